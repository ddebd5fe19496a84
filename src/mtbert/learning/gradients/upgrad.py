"""Change each task's gradient as little as it takes to harm no task, and average the results (UPGrad).

Formula: g = 1/T sum_i p(g_i), where p(x) is the vector nearest to x with p(x) . g_j >= 0 for every task j. As a sum of
gradients: p(g_i) = sum_j v_j g_j with the v that makes |sum_j v_j g_j| least, where v_i >= 1 and all others >= 0.

Source: Quinton and Rey (2024), section 3.1, equation 3, and proposition 1. Symbols: g_i the gradient of task i over
the shared parameters, T tasks.

It is found exactly, by non-negative least squares, so that linearly dependent gradients need no regularisation. Where
no two tasks conflict it is their mean. A gradient that is 0 counts 1/T, which adds nothing.
"""

import numpy as np

from mtbert.learning.gradients.gramian import Array, GramianRule, in_few_dimensions


class UpGrad(GramianRule):
    """Projects each gradient onto the directions that harm no task."""

    def counts(self, gramian: Array) -> Array:
        """Return the mean of all v, [tasks], from a Gramian [tasks, tasks].

        The v of task i is e_i + x, where x makes |J (e_i + x)| least with all x_j >= 0.
        """
        from scipy.optimize import nnls

        columns = in_few_dimensions(gramian)
        added = [nnls(columns, -column)[0] for column in columns.T]
        return (np.eye(len(columns)) + added).mean(axis=0)
