"""Dynamically adjusted loss: learn how much each task counts.

What it does: scales each task's loss by a learnt number, which has a cost of its own. The numbers have a learning
rate of their own, since they have to move by about 1: at the encoder's, 1e-5, a whole training moves them by
hundredths.

Formula: l_t' = exp(-s_t) l_t + s_t.

Source: SlapBERT, section 4.2, equation 1, after Kendall et al. (2018), section 3, where s_t is the logarithm of a
task's noise. The report names no learning rate for s_t; 0.01 is ours: with Adam, whose steps are about as long as the
rate, 100 updates of a task can move s_t by 1.

Symbols: l_t the loss of task t, with the terms of its objectives; s_t learnt, 0 at first, without weight decay.

Mind that a task's weight falls as its loss grows: at its best s_t is log l_t, where every task counts alike in relation
to its loss.

Prefer `uncertainty` for the paper's own form, which treats classes and scores differently; `equal` where the losses of
the tasks are on one scale, or where a training is compared with one without it.
"""

from collections.abc import Mapping, Sequence

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.settings import Section
from mtbert.training.weightings.base import Mean, Weighting


class Settings(Section):
    """Section `dynamic`: the learning rate of the weights, at the schedule's peak."""

    learning_rate: float = Field(default=0.01, gt=0)


class Dynamic(Weighting):
    """Learns one number for each task."""

    def __init__(self, settings: Settings, tasks: Sequence[str], generator: torch.Generator) -> None:
        super().__init__(settings, tasks, generator)
        self.s = nn.ParameterDict({task: nn.Parameter(torch.zeros(())) for task in tasks})

    def forward(self, losses: Mapping[str, Tensor], mean: Mean) -> dict[str, Tensor]:
        """Return exp(-s) loss + s for each task."""
        return {task: torch.exp(-self.s[task]) * loss + self.s[task] for task, loss in losses.items()}

    def learning_rate(self, of_model: float) -> float:
        """Return its own."""
        return self.settings.learning_rate

    def values(self) -> dict[str, float]:
        """Return s of each task."""
        return {f"s/{task}": parameter.item() for task, parameter in self.s.items()}
