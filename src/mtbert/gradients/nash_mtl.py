"""The tasks bargain over the gradient: each one's gain counts by its logarithm, so that none is given up (Nash-MTL).

Formula: g = sum_i a_i g_i with sum_j (g_i . g_j) a_j = 1 / a_i and a_i > 0 for every task. Then |g|^2 = T, however
long the gradients are, and a task's loss falls the more slowly, the more it counts.

Source: Navon et al. (2022), section 3 and algorithm 1. Symbols: g_i the gradient of task i over the shared
parameters, T tasks.

The a is where 1/2 a' G a - sum_i log a_i is least, a convex function with one such place, found by Newton's method to
the last digits. The authors' code approaches it by a sequence of convex programs, starts from the last step's a,
multiplies g by sqrt(|G|) and then cuts it to length 1 (here `training.clip` does that); nothing is remembered here.

Where gradients cancel, or one is 0, no a exists: it would grow without end. As much as 1e-10 of the squared lengths
together is therefore added to each task's own, so that a stays finite, while what cancels still does.

Prefer `mgda` where the length of the gradient is to fall as training ends.
"""

import numpy as np
from torch import Tensor

from mtbert.gradients.gramian import Array, GramianRule, in_few_dimensions

ADDED = 1e-10  # to each squared length, where these add up to 1
ROUNDS = 500  # some 60 for gradients that cancel, some 10 for others


class NashMtl(GramianRule):
    """Solves the bargaining problem."""

    def counts(self, gramian: Tensor) -> list[float]:
        """See `coefficients`."""
        return coefficients(gramian.numpy()).tolist()


def coefficients(gramian: Array) -> Array:
    """The a, [tasks], of a Gramian [tasks, tasks]; 1 for every task where all gradients are 0."""
    if not (size := np.trace(gramian)):
        return np.ones(len(gramian))
    columns = in_few_dimensions(gramian)
    products = columns.T @ columns + ADDED * np.eye(len(columns))
    found = 1 / np.sqrt(np.diag(products))
    for _ in range(ROUNDS):
        slope = products @ found - 1 / found
        step = np.linalg.solve(products + np.diag(found**-2), slope)
        left = np.sqrt(max(slope @ step, 0.0))
        found = found - step / (1 + left)  # as long as keeps every a_i above 0 and brings the function down
        if left < 1e-9:
            break
    return found / np.sqrt(size)
