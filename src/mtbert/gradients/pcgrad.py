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

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from mtbert.gradients.base import GradientRule
from mtbert.settings import Section

Gradients = list[Tensor | None]  # one a parameter; None where a task does not reach it


class Settings(Section):
    """Section `pcgrad`: what becomes of the projected gradients of shared parameters."""

    reduction: Literal["sum", "mean"] = "sum"


class PcGrad(GradientRule):
    """Projects conflicting gradients."""

    several_tasks = True

    def __call__(
        self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter], backward: Callable[[Tensor], None]
    ) -> None:
        """Gradients of each task, projected over the shared parameters, summed or averaged."""
        of = [gradients(loss, parameters, backward) for loss in losses.values()]
        reached = [sum(g is not None for g in column) for column in zip(*of, strict=True)]
        shared = [number for number, count in enumerate(reached) if count > 1]
        left = coefficients(products(of, shared), self.generator).sum(dim=0).tolist()
        for number, parameter in enumerate(parameters):
            by = reached[number] if self.settings.reduction == "mean" else 1
            weights = [weight / by for weight in left] if reached[number] > 1 else [1.0] * len(of)
            parameter.grad = weighted([gradient[number] for gradient in of], weights)


def gradients(loss: Tensor, parameters: Sequence[nn.Parameter], backward: Callable[[Tensor], None]) -> Gradients:
    """One task's gradient in each parameter."""
    for parameter in parameters:
        parameter.grad = None
    backward(loss)
    return [parameter.grad for parameter in parameters]


def products(of: Sequence[Gradients], shared: Sequence[int]) -> Tensor:
    """g_i . g_j over the shared parameters, for all tasks: [tasks, tasks] in fp64, on the CPU."""
    found = torch.zeros(len(of), len(of), dtype=torch.float64)
    for i, first in enumerate(of):
        for j, second in enumerate(of[: i + 1]):
            pairs = [(first[number], second[number]) for number in shared]
            parts = [torch.dot(a.flatten(), b.flatten()) for a, b in pairs if a is not None and b is not None]
            if parts:
                found[i, j] = found[j, i] = torch.stack(parts).double().sum()
    return found


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


def weighted(column: Sequence[Tensor | None], weights: Sequence[float]) -> Tensor | None:
    """The weighted sum of what tasks have for one parameter, in the place of the first; None where none has."""
    total: Tensor | None = None
    for gradient, weight in zip(column, weights, strict=True):
        if gradient is not None:
            total = gradient.mul_(weight) if total is None else total.add_(gradient, alpha=weight)
    return total
