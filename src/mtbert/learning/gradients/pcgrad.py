"""Gradient surgery: remove from each task's gradient what works against another's (PCGrad).

Formula: for each task i and each other j in random order: if g_i' . g_j < 0, g_i' = g_i' - (g_i' . g_j / |g_j|^2) g_j;
g = sum_i g_i' (`reduction: sum`), or that over the number of tasks that reach the parameter (`mean`). g_j is always the
gradient as it was, g_i' starts as g_i.

Source: Yu et al. (2020), algorithm 1, which sums; SlapBERT, section 4.5, equation 2, with Tseng's code
(Pytorch-PCGrad), which averages over the tasks what all of them reach.

Symbols: g_i the gradient of task i over the shared parameters: those that more than one task of the step reaches.
"""

from typing import Literal

import torch

from mtbert.learning.gradients.gramian import Array, GramianRule
from mtbert.settings import Section


class Settings(Section):
    """Section `pcgrad`: how the projected gradients of shared parameters become one."""

    reduction: Literal["sum", "mean"] = "sum"


class PcGrad(GramianRule):
    """Projects conflicting gradients."""

    def counts(self, gramian: Array) -> Array:
        """Return how much of each task's gradient is left in the sum of the projected ones."""
        # Every g_i' is sum_j c_ij g_j, so that g_i' . g_j = sum_k c_ik (g_k . g_j) needs no more than the products.
        products = torch.from_numpy(gramian)
        c = torch.eye(len(products), dtype=products.dtype)
        for i in range(len(products)):
            for j in torch.randperm(len(products), generator=self.generator).tolist():
                conflict = c[i] @ products[:, j]
                if j != i and conflict < 0:
                    c[i, j] -= conflict / products[j, j]
        return c.sum(dim=0).numpy()

    def within(self, counts: list[float], reached: int) -> list[float]:
        """Return the same, or with `mean` that over the number of tasks that reach the parameter."""
        divisor = max(reached, 1) if self.settings.reduction == "mean" else 1
        return [count / divisor for count in super().within(counts, reached)]
