"""Dynamically adjusted loss: learn how much each task counts.

What it does: scales each task's loss by a learnt number, down as the loss grows: at its best s_t is log l_t.

Formula: l_t' = exp(-s_t) l_t + s_t.

Source: SlapBERT, section 4.2, equation 1, after Kendall et al. (2018), section 3, where s_t is the logarithm of a
task's noise. The paper names no learning rate for s_t; 0.01 is ours: with Adam, whose steps are about as long as the
rate, 100 updates of a task can move s_t by 1.

Symbols: l_t the loss of task t, with the terms of its objectives; s_t learnt, 0 at first, without weight decay.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from mtbert.learning.weightings.base import Learnt


class Dynamic(Learnt):
    """Learns one number for each task."""

    def forward(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return exp(-s) loss + s for each task."""
        return {task: torch.exp(-self.s[task]) * loss + self.s[task] for task, loss in losses.items()}
