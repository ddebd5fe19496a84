"""A phase that is ready to run: `assembly` hands in all its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from mtbert.data.batches import Stream
from mtbert.settings import PhaseSettings
from mtbert.training.gradients.base import GradientRule
from mtbert.training.objectives.base import Objective
from mtbert.training.samplers.base import Sampler
from mtbert.training.schedules.base import Schedule
from mtbert.training.states import Stateful
from mtbert.training.weightings.base import Again, Weighting


@dataclass
class Phase(Stateful):
    """What one phase of a run trains, on what data, and how.

    Attributes:
        number: counts from 1.
        parameters: all that it trains, beside the model those of objectives and weighting.
        optimiser: over the parameters.
        lr_scheduler: the schedule of the optimiser's learning rates.
    """

    changes = ("objectives", "optimiser", "lr_scheduler", "schedule", "weighting", "rule")

    number: int
    settings: PhaseSettings
    parameters: Sequence[nn.Parameter]
    streams: dict[str, Stream]
    sampler: Sampler
    objectives: dict[str, Objective]
    weighting: Weighting
    rule: GradientRule
    schedule: Schedule
    optimiser: torch.optim.Optimizer

    def __post_init__(self) -> None:
        """Attach the schedule to the optimiser."""
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda n: self.schedule.factor(n, self.steps)
        )

    @property
    def steps(self) -> int:
        """Number of steps of the whole phase."""
        return self.settings.epochs * self.sampler.steps

    def after_step(self, losses: Mapping[str, float], again: Again) -> None:
        """Call what objectives, weighting and gradient rule do after an update.

        Args:
            losses: of the step, not weighted.
            again: computes them again, with the updated weights.
        """
        for objective in self.objectives.values():
            objective.after_step((self.lr_scheduler.last_epoch + 1) / self.steps)
        self.weighting.after_update(losses, again)
        self.rule.after_update(losses)

    def state(self) -> dict[str, Any]:
        """Return all that changes in training but the model's weights."""
        return super().state() | {"streams": {task: stream.drawn for task, stream in self.streams.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        super().restore(state)
        for task, drawn in state["streams"].items():
            self.streams[task].drawn = drawn
