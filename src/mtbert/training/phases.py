"""A phase, ready to run: its parts, all handed in by `assembly`."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from mtbert.data.batches import Stream
from mtbert.gradients.base import GradientRule
from mtbert.objectives.base import Objective
from mtbert.samplers.base import Sampler
from mtbert.settings import PhaseSettings
from mtbert.training.schedules import Schedule
from mtbert.weightings.base import Weighting


@dataclass
class Phase:
    """What one phase of a run trains, on what, and how; `number` counts from 1, `parameters` are all that it trains."""

    number: int
    settings: PhaseSettings
    parameters: Sequence[nn.Parameter]
    streams: dict[str, Stream]
    sampler: Sampler
    objectives: dict[str, Objective]
    weighting: Weighting
    rule: GradientRule
    schedule: Schedule

    @property
    def steps(self) -> int:
        """Steps of the whole phase."""
        return self.settings.epochs * self.sampler.steps

    def optimiser(self) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
        """AdamW over the phase's parameters, and the schedule on it."""
        first, second = self.settings.betas
        optimiser = torch.optim.AdamW(
            self.parameters,
            lr=self.settings.learning_rate,
            betas=(first, second),
            eps=self.settings.eps,
            weight_decay=self.settings.weight_decay,
            fused=True,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: self.schedule.factor(step, self.steps))
        return optimiser, schedule
