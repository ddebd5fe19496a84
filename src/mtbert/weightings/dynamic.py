"""Dynamically adjusted loss: how much a task counts is learnt.

Formula: l_t' = exp(-s_t) l_t + s_t.

Source: SlapBERT, section 4.2, equation 1, after Kendall et al. (2018), section 3, where s_t is the logarithm of a
task's noise. Symbols: l_t the loss of task t, with the terms of its objectives; s_t learnt, 0 at first.

Mind that a task is turned down the more, the larger its loss: at its best s_t is log l_t, where every task counts alike
in relation to its loss.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mtbert.settings import NoOptions
from mtbert.weightings.base import Weighting


class Dynamic(Weighting):
    """One learnt number a task."""

    def __init__(self, settings: NoOptions, tasks: Sequence[str]) -> None:
        super().__init__(settings, tasks)
        self.s = nn.ParameterDict({task: nn.Parameter(torch.zeros(())) for task in tasks})

    def forward(self, task: str, loss: Tensor) -> Tensor:
        """exp(-s) loss + s."""
        return torch.exp(-self.s[task]) * loss + self.s[task]

    def values(self) -> dict[str, float]:
        """s of each task."""
        return {f"s/{task}": parameter.item() for task, parameter in self.s.items()}
