"""Uncertainty: learn how noisy each task's labels are; noisier tasks count less.

Formula: l_t' = l_t / (2 sigma_t^2) + log sigma_t for tasks of scores, l_t / sigma_t^2 + log sigma_t for tasks of
classes.

Source: Kendall et al. (2018), section 3.2. The paper names no learning rate for it; 0.01 is ours.

Symbols: l_t the loss of task t, with the terms of its objectives; sigma_t its noise, learnt as s_t = log sigma_t^2, 0
at first, without weight decay. The task's kind decides, whatever its head's loss is.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from mtbert.tasks import TASKS, served
from mtbert.training.weightings.base import Learnt


class Uncertainty(Learnt):
    """Learns one number for each task."""

    def forward(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Weight the losses by the formula above."""
        return {t: factor(t) * torch.exp(-self.s[t]) * loss + self.s[t] / 2 for t, loss in losses.items()}


def factor(task: str) -> float:
    """Return the factor of l_t / sigma_t^2."""
    return 0.5 if TASKS[served(task)].kind == "score" else 1.0
