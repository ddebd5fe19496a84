"""What a weighting is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

Mean = Callable[[Mapping[str, Tensor]], Mapping[str, float]]  # of each scalar over all processes
Again = Callable[[], Mapping[str, float]]


class Weighting(nn.Module):
    """What a phase makes of its tasks' losses; its parameters are trained with the model's.

    Subclasses take (settings, tasks, generator): the tasks of the phase, and a generator that is in the same state on
    every process. What changes in training beside parameters and buffers goes to a checkpoint by `get_extra_state` and
    `set_extra_state`, PyTorch's own hooks.

    Attributes:
        several_tasks: whether it makes sense only where a step holds several tasks.
    """

    several_tasks = False

    def __init__(self, settings: Any, tasks: Sequence[str], generator: torch.Generator) -> None:
        super().__init__()
        self.settings = settings
        self.tasks = list(tasks)
        self.generator = generator

    def forward(self, losses: Mapping[str, Tensor], mean: Mean) -> dict[str, Tensor]:
        """What is trained on in place of a step's losses, a scalar each; these hold the objectives' terms too.

        It may be asked twice for one step, where the first try did not fit into the memory.

        Args:
            losses: of this process.
            mean: means over all processes; to be asked on all of them or on none.
        """
        raise NotImplementedError

    def after_update(self, losses: Mapping[str, float], again: Again) -> None:
        """Told after every update.

        Args:
            losses: of its step, as they were before they were weighted, means over all processes.
            again: computes the same of the same batches with the weights as they are now, which takes another forward
                pass; to be asked on all processes or on none.
        """

    def after_epoch(self, losses: Mapping[str, float]) -> None:
        """Told at the end of each epoch: the mean over its steps of each task's losses, where it had a turn."""

    def learning_rate(self, of_model: float) -> float:
        """At which its parameters are trained, given the model's; both follow the phase's schedule."""
        return of_model

    def values(self) -> dict[str, float]:
        """What the history should tell of it, such as a learnt weight of each task."""
        return {}
