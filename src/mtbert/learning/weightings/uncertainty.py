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

from mtbert.learning.weightings.base import Learnt, LearntSettings
from mtbert.tasks import Tasks


class Uncertainty(Learnt):
    """Learns one number for each task.

    Attributes:
        factors: of l_t / sigma_t^2.
    """

    def __init__(self, settings: LearntSettings, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__(settings, tasks, generator)
        self.factors = {name: 0.5 if task.kind == "score" else 1.0 for name, task in tasks.items()}

    def forward(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Weight the losses by the formula above."""
        return {t: self.factors[t] * torch.exp(-self.s[t]) * loss + self.s[t] / 2 for t, loss in losses.items()}
