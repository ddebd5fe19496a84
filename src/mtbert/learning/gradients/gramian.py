"""Base of the gradient rules that need nothing of the tasks' gradients but their products.

Such a rule returns how much each task's gradient counts; their weighted sum is the shared gradient. It needs T x T
numbers in place of millions. Shared parameters are those that more than one task of the step reaches.
A task's own parameters (heads, adapters) keep its gradient, since no other task can be harmed through them.

The published rules differ in the length of their gradients: `total` adds up the tasks, others average them. AdamW does
not see a factor that is the same in all steps; `training.clip` does.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mtbert.learning.gradients.base import GradientRule

Gradients = list[Tensor | None]  # one for each parameter; None where a task does not reach it
Array = NDArray[np.float64]
SMALLEST = 1e-14


class GramianRule(GradientRule):
    """Weights the tasks' gradients by their products with one another. Subclasses define `counts`."""

    several_tasks = True
    changes = ("generator",)

    def counts(self, gramian: Array) -> Array:
        """Return how much each task's gradient counts, [tasks]; `gramian` is [tasks, tasks] and finite."""
        raise NotImplementedError

    def within(self, counts: list[float], reached: int) -> list[float]:
        """Return how much each counts in a parameter that `reached` of the tasks reach."""
        return counts if reached > 1 else [1.0] * len(counts)

    def __call__(self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter]) -> None:
        """Compute each task's gradient, and leave their weighted sum in each parameter's `.grad`."""
        task_gradients = [gradients(loss, parameters) for loss in losses.values()]
        reached = [sum(g is not None for g in column) for column in zip(*task_gradients, strict=True)]
        gramian = products(task_gradients, [number for number, count in enumerate(reached) if count > 1])
        counts = [1.0] * len(task_gradients)
        if torch.isfinite(gramian).all():  # else the sum is not finite either, which the loop reports
            counts = self.counts(gramian.numpy()).tolist()
        for number, parameter in enumerate(parameters):
            weights = self.within(counts, reached[number])
            parameter.grad = weighted([gradient[number] for gradient in task_gradients], weights)


def gradients(loss: Tensor, parameters: Sequence[nn.Parameter]) -> Gradients:
    """Compute one task's gradient in each parameter."""
    for parameter in parameters:
        parameter.grad = None
    loss.backward()
    return [parameter.grad for parameter in parameters]


def products(task_gradients: Sequence[Gradients], shared: Sequence[int]) -> Tensor:
    """Return g_i . g_j over the shared parameters, for all tasks: [tasks, tasks] in fp64, on the CPU."""
    gramian = torch.zeros(len(task_gradients), len(task_gradients), dtype=torch.float64)
    for i, first in enumerate(task_gradients):
        for j, second in enumerate(task_gradients[: i + 1]):
            pairs = [(first[number], second[number]) for number in shared]
            parts = [torch.dot(a.flatten(), b.flatten()) for a, b in pairs if a is not None and b is not None]
            if parts:
                gramian[i, j] = gramian[j, i] = torch.stack(parts).double().sum()
    return gramian


def weighted(column: Sequence[Tensor | None], weights: Sequence[float]) -> Tensor | None:
    """Sum the tasks' weighted gradients of one parameter, in place in the first; None where no task has one."""
    total: Tensor | None = None
    for gradient, weight in zip(column, weights, strict=True):
        if gradient is not None:
            total = gradient.mul_(weight) if total is None else total.add_(gradient, alpha=weight)
    return total


def in_few_dimensions(gramian: Array) -> Array:
    """Return columns with the same products as the gradients, scaled so that their squared lengths add up to 1.

    Of linearly dependent columns a sum can vanish however large their weights are. Eigenvalues below 1e-14, negative
    ones from rounding among them, are therefore raised to it: the solution is then unique and its weights stay small.
    Gramian and result are [tasks, tasks]; the result has a column for each task.
    """
    values, vectors = np.linalg.eigh(gramian / (np.trace(gramian) or 1.0))
    return np.sqrt(np.maximum(values, SMALLEST))[:, None] * vectors.T


def nearest_to_origin(points: Array) -> Array:
    """Return the weights, 0 or more with sum 1, of the weighted mean of the columns that is nearest to the origin.

    Non-negative least squares finds them: where |sum_i x_i p_i|^2 + s^2 (1 - sum_i x_i)^2 is least, x is in proportion
    to the weights, whatever s is.
    """
    from scipy.optimize import nnls

    size = np.linalg.norm(points, axis=0).max()
    weights, _ = nnls(np.vstack([points / size, np.ones(points.shape[1])]), np.append(np.zeros(len(points)), 1.0))
    return weights / weights.sum()
