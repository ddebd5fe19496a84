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
from mtbert.training.weightings.base import Again, Weighting

STATEFUL = ("optimiser", "lr_scheduler", "schedule", "weighting", "rule")  # parts that change in training


@dataclass
class Phase:
    """What one phase of a run trains, on what data, and how.

    Attributes:
        number: counts from 1.
        parameters: all that it trains, beside the model those of objectives and weighting.
        optimiser: over the parameters.
        lr_scheduler: the schedule of the optimiser's learning rates.
    """

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

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training but the model's weights, for a checkpoint."""
        return {
            "streams": {task: stream.drawn for task, stream in self.streams.items()},
            "objectives": {name: objective.state_dict() for name, objective in self.objectives.items()},
            **{name: getattr(self, name).state_dict() for name in STATEFUL},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        for task, drawn in state["streams"].items():
            self.streams[task].drawn = drawn
        for name, objective in self.objectives.items():
            objective.load_state_dict(state["objectives"][name])
        for name in STATEFUL:
            getattr(self, name).load_state_dict(state[name])
