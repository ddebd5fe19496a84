"""What a weighting is."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.learning.states import Stateful
from mtbert.models.by_task import ParametersByTask
from mtbert.settings import Section
from mtbert.tasks import Tasks

Again = Callable[[], Mapping[str, Tensor]]


class Weighting(Stateful, nn.Module):
    """Weights the tasks' losses of a phase; its parameters are trained with the model's.

    Subclasses take (settings, tasks, generator); `tasks` has the task that each name of the phase's `tasks` trains.

    Attributes:
        several_tasks: whether it needs several tasks in a step.
        learning_rate: of its parameters, where it is not the model's; both follow the phase's schedule.
    """

    several_tasks = False
    learning_rate: float | None = None

    def __init__(self, settings: Any, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__()
        self.settings = settings
        self.tasks = list(tasks)
        self.generator = generator

    def forward(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weighted losses of a step, scalars, which are trained on in place of `losses`; here, the same.

        `losses` hold the terms of the objectives, too.
        """
        return dict(losses)

    def after_update(self, losses: Mapping[str, Tensor], again: Again) -> None:
        """Called after every update.

        Args:
            losses: of its step, not weighted: scalars on the device. To read one waits for the device.
            again: computes the losses of the same batches with the weights as they are now: another forward pass.
        """

    def after_epoch(self, losses: Mapping[str, float]) -> None:
        """Called after each epoch with each task's mean loss over its steps; tasks without a step are left out."""

    def values(self) -> dict[str, float]:
        """Return values for the history, such as a learnt weight of each task."""
        return {}


class Placed(Weighting):
    """Multiplies losses by weights that are computed between steps.

    Attributes:
        weights: of all tasks, float32 [tasks]; on the device, so that recorded steps read them there.
    """

    changes = ("weights",)
    weights: Tensor

    def __init__(self, settings: Any, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__(settings, tasks, generator)
        self.register_buffer("weights", torch.ones(len(self.tasks)))

    def forward(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Multiply each loss by its weight."""
        weights = dict(zip(self.tasks, self.weights, strict=True))
        return {task: loss * weights[task] for task, loss in losses.items()}

    def place(self, weights: Iterable[float]) -> None:
        """Set the weights of all tasks; to fill one waits for no device."""
        for weight, value in zip(self.weights, weights, strict=True):
            weight.fill_(value)


class LearntSettings(Section):
    """Section of a weighting that learns its numbers: their learning rate, at the schedule's peak."""

    learning_rate: float = Field(default=0.01, gt=0, le=100)


class Learnt(Weighting):
    """Learns one number `s` for each task, 0 at first, at a learning rate of its own."""

    changes = ("s",)

    def __init__(self, settings: LearntSettings, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__(settings, tasks, generator)
        self.learning_rate = settings.learning_rate
        self.s = ParametersByTask({task: torch.zeros(()) for task in tasks})

    def values(self) -> dict[str, float]:
        """Return s of each task."""
        return {f"s/{task}": parameter.item() for task, parameter in self.s.items()}
