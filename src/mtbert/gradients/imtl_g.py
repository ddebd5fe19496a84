"""A weighted mean of the tasks' gradients on which all of them have the same projection (IMTL-G).

Formula: g = sum_i a_i g_i with sum_i a_i = 1 and g . g_i / |g_i| the same for every task: a is in proportion to
G^-1 (|g_1|, ..., |g_T|), where G_ij = g_i . g_j.

Source: Liu et al. (2021), *Towards impartial multi-task learning*, section 3.1, whose solution is the same in
another form; here for shared parameters, where the paper takes the shared representation. Symbols: g_i the gradient of
task i over the shared parameters, T tasks.

Where G has no inverse, its pseudo-inverse counts, if the projections come out alike (two equal gradients: a half
each). If they do not, only the zero vector projects alike on all, and a is what makes it (opposed gradients cancel).
Where no a does either, or G is 0, every task counts 1/T. A task whose gradient is 0 counts 0.

Mind that a_i may be negative, and that the common projection may be, too: with three tasks or more whose gradients
differ much in length and conflict, the formula can turn against all tasks. Prefer `upgrad`, which never does.
"""

import numpy as np
from torch import Tensor

from mtbert.gradients.gramian import Array, GramianRule

ZERO = 1e-10  # eigenvalues below this share of the largest
EQUAL = 1e-6  # how far projections may be apart, as a share of the longest gradient


class ImtlG(GramianRule):
    """Makes the projections equal."""

    def counts(self, gramian: Tensor) -> list[float]:
        """See `coefficients`."""
        return coefficients(gramian.numpy()).tolist()


def coefficients(gramian: Array) -> Array:
    """The a, [tasks], of a Gramian [tasks, tasks]: 1 in all."""
    lengths = np.sqrt(np.maximum(np.diag(gramian), 0.0))
    values, vectors = np.linalg.eigh(gramian)
    sound = values > ZERO * values[-1]
    found = vectors[:, sound] @ (vectors[:, sound].T @ lengths / values[sound])
    if np.abs(gramian @ found - lengths).max() > EQUAL * lengths.max():
        found = vectors[:, ~sound] @ vectors[:, ~sound].sum(axis=0)  # of the combinations that are 0, the shortest
    total = found.sum()
    usable = abs(total) > ZERO * np.abs(found).sum()
    return found / total if usable else np.full(len(lengths), 1 / len(lengths))
