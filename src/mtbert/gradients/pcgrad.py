"""Gradient surgery: what one task's gradient undoes of another's is taken out of it (PCGrad).

What it does: where the gradients of two tasks conflict (their product is negative), each is projected onto the plane on
which the other is not harmed; the projected gradients are summed, or averaged.

Formula: for each task i and each other j in random order: if g_i' . g_j < 0, g_i' = g_i' - (g_i' . g_j / |g_j|^2) g_j;
g = sum_i g_i' (`reduction: sum`), or that over the number of tasks that reach the parameter (`mean`). g_j is always the
gradient as it was, g_i' starts as g_i.

Source: Yu et al. (2020), algorithm 1, which sums; SlapBERT, section 4.5, equation 2, with Tseng's code
(Pytorch-PCGrad), which averages over the tasks what all of them reach.

Symbols: g_i the gradient of task i over the shared parameters: those that more than one task of the step reaches.
A task's own parameters (heads, adapters) keep its gradient: no other task can be harmed through them.

Prefer `total` with a sampler whose steps hold one task: there is nothing to project.
"""

from typing import Literal

import torch
from torch import Tensor

from mtbert.gradients.gramian import GramianRule
from mtbert.settings import Section


class Settings(Section):
    """Section `pcgrad`: what becomes of the projected gradients of shared parameters."""

    reduction: Literal["sum", "mean"] = "sum"


class PcGrad(GramianRule):
    """Projects conflicting gradients."""

    def counts(self, gramian: Tensor) -> list[float]:
        """What is left of each task's gradient in the sum of the projected ones."""
        return coefficients(gramian, self.generator).sum(dim=0).tolist()

    def within(self, counts: list[float], reached: int) -> list[float]:
        """The same, or that over the number of tasks that reach the parameter."""
        by = max(reached, 1) if self.settings.reduction == "mean" else 1
        return [count / by for count in super().within(counts, reached)]


def coefficients(products: Tensor, generator: torch.Generator) -> Tensor:
    """The c of g_i' = sum_j c_ij g_j, [tasks, tasks].

    Every g_i' is a sum of the gradients, so that the algorithm needs no more of them than their products: with
    (g_i' . g_j) = sum_k c_ik (g_k . g_j) it works on T numbers a task in place of millions.
    """
    found = torch.eye(len(products), dtype=products.dtype)
    for i in range(len(products)):
        for j in torch.randperm(len(products), generator=generator).tolist():
            conflict = found[i] @ products[:, j]
            if j != i and conflict < 0:
                found[i, j] -= conflict / products[j, j]
    return found
