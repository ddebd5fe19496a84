"""What gradient rules share that go by the products of the tasks' gradients, and no more of them.

Such a rule says how much each task's gradient counts, and their weighted sum takes the place of the shared gradient. It
needs T x T numbers in place of millions: of the shared parameters, those that more than one task of the step reaches.
A task's own parameters (heads, adapters) keep its gradient, since no other task can be harmed through them.

The published rules differ in the length of what they give: `total` adds up the tasks, others average them. AdamW does
not see a factor that is the same in all steps; `training.clip` does.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor, nn

from mtbert.gradients.base import GradientRule

Gradients = list[Tensor | None]  # one a parameter; None where a task does not reach it
Array = NDArray[np.float64]
SMALLEST = 1e-14


class GramianRule(GradientRule):
    """Weighs the tasks' gradients by their products with one another. Subclasses give `counts`."""

    several_tasks = True

    def counts(self, gramian: Tensor) -> list[float]:
        """How much each task's gradient counts; `gramian` is [tasks, tasks], fp64, finite, on the CPU."""
        raise NotImplementedError

    def within(self, counts: list[float], reached: int) -> list[float]:
        """The same in a parameter that so many of the tasks reach."""
        return counts if reached > 1 else [1.0] * len(counts)

    def __call__(
        self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter], backward: Callable[[Tensor], None]
    ) -> None:
        """Gradients of each task, weighted over the shared parameters."""
        of = [gradients(loss, parameters, backward) for loss in losses.values()]
        reached = [sum(g is not None for g in column) for column in zip(*of, strict=True)]
        gramian = products(of, [number for number, count in enumerate(reached) if count > 1])
        finite = bool(torch.isfinite(gramian).all())  # else the sum is not either, which the loop tells
        counts = self.counts(gramian) if finite else [1.0] * len(of)
        for number, parameter in enumerate(parameters):
            weights = self.within(counts, reached[number])
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


def weighted(column: Sequence[Tensor | None], weights: Sequence[float]) -> Tensor | None:
    """The weighted sum of what tasks have for one parameter, in the place of the first; None where none has."""
    total: Tensor | None = None
    for gradient, weight in zip(column, weights, strict=True):
        if gradient is not None:
            total = gradient.mul_(weight) if total is None else total.add_(gradient, alpha=weight)
    return total


def in_few_dimensions(gramian: Array) -> Array:
    """Columns with the same products as the gradients, which are scaled so that their squared lengths add up to 1.

    Of columns that depend on one another, a sum can vanish however much each counts. Eigenvalues below 1e-14, with
    those that rounding made negative, therefore count as that: what is looked for is then there once, and stays small.

    Args:
        gramian: [tasks, tasks].

    Returns: [tasks, tasks], a column a task.
    """
    values, vectors = np.linalg.eigh(gramian / (np.trace(gramian) or 1.0))
    return np.sqrt(np.maximum(values, SMALLEST))[:, None] * vectors.T


def nearest_to_origin(points: Array) -> Array:
    """The weights, 0 or more and 1 in all, of the point nearest to the origin among all weighted means of the columns.

    Non-negative least squares finds them: where |sum_i x_i p_i|^2 + s^2 (1 - sum_i x_i)^2 is least, x is in proportion
    to the weights, whatever s is.
    """
    size = np.linalg.norm(points, axis=0).max()
    found, _ = nnls(np.vstack([points / size, np.ones(points.shape[1])]), np.append(np.zeros(len(points)), 1.0))
    return found / found.sum()
