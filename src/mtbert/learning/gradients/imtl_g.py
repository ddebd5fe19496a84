"""Take the weighted mean of the tasks' gradients on which all of them have the same projection (IMTL-G).

Formula: g = sum_i a_i g_i with sum_i a_i = 1 and g . g_i / |g_i| the same for every task: a is in proportion to
G^-1 (|g_1|, ..., |g_T|), where G_ij = g_i . g_j.

Source: Liu et al. (2021), *Towards impartial multi-task learning*, section 3.1, whose solution is the same in
another form; here for shared parameters, where the paper takes the shared representation. Symbols: g_i the gradient of
task i over the shared parameters, T tasks.

Where G has no inverse, its pseudo-inverse is used, if the projections come out equal (two equal gradients: a half
each). If they do not, only the zero vector has equal projections, and a is what makes it (opposed gradients cancel).
Where no a makes it either, or G is 0, every task counts 1/T. A task whose gradient is 0 counts 0.

Mind that a_i may be negative, and that the common projection may be, too: with three tasks or more whose gradients
differ much in length and conflict, the formula can turn against all tasks. Prefer `upgrad`, which never does.
"""

import numpy as np

from mtbert.learning.gradients.gramian import Array, GramianRule

ZERO = 1e-10  # eigenvalues below this share of the largest count as 0
EQUAL = 1e-6  # how far projections may be apart, as a share of the longest gradient


class ImtlG(GramianRule):
    """Makes the projections equal."""

    def counts(self, gramian: Array) -> Array:
        """Return a, [tasks], from a Gramian [tasks, tasks]; its sum is 1."""
        lengths = np.sqrt(np.maximum(np.diag(gramian), 0.0))
        values, vectors = np.linalg.eigh(gramian)
        sound = values > ZERO * values[-1]
        weights = vectors[:, sound] @ (vectors[:, sound].T @ lengths / values[sound])
        if np.abs(gramian @ weights - lengths).max() > EQUAL * lengths.max():
            weights = vectors[:, ~sound] @ vectors[:, ~sound].sum(axis=0)  # the shortest combination that is 0
        total = weights.sum()
        usable = abs(total) > ZERO * np.abs(weights).sum()
        return weights / total if usable else np.full(len(lengths), 1 / len(lengths))
