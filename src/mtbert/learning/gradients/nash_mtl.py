"""Let the tasks bargain over the gradient: gains count by their logarithm, so that no task is given up (Nash-MTL).

Formula: g = sum_i a_i g_i with sum_j (g_i . g_j) a_j = 1 / a_i and a_i > 0 for every task. Then |g|^2 = T, however
long the gradients are, and a task's loss falls the more slowly, the more it counts.

Source: Navon et al. (2022), section 3 and algorithm 1. Symbols: g_i the gradient of task i over the shared
parameters, T tasks.

The a is where 1/2 a' G a - sum_i log a_i is least, a convex function with one minimum, found by Newton's method to
the last digits. The authors' code approaches it by a sequence of convex programs, starts from the last step's a,
multiplies g by sqrt(|G|) and then cuts it to length 1 (here `training.clip` does that); nothing is remembered here.

Where gradients cancel, or one is 0, no a exists: it would grow without bound. Therefore 1e-10 of the sum of squared
lengths is added to each of them: a stays finite, and gradients that cancel still do.
"""

import numpy as np

from mtbert.learning.gradients.gramian import Array, GramianRule, in_few_dimensions

ADDED = 1e-10  # to each squared length, where these add up to 1
ROUNDS = 500  # at most; gradients that cancel take about 60, others about 10


class NashMtl(GramianRule):
    """Solves the bargaining problem."""

    def counts(self, gramian: Array) -> Array:
        """Return a, [tasks], from a Gramian [tasks, tasks]; 1 for every task where all gradients are 0."""
        if not (size := np.trace(gramian)):
            return np.ones(len(gramian))
        columns = in_few_dimensions(gramian)
        products = columns.T @ columns + ADDED * np.eye(len(columns))
        weights = 1 / np.sqrt(np.diag(products))
        for _ in range(ROUNDS):
            slope = products @ weights - 1 / weights
            step = np.linalg.solve(products + np.diag(weights**-2), slope)
            left = np.sqrt(max(slope @ step, 0.0))
            weights = weights - step / (1 + left)  # short enough to keep every a_i above 0 and to lower the function
            if left < 1e-9:
                break
        return weights / np.sqrt(size)
