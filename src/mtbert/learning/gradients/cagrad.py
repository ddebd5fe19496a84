"""Take, of all gradients near the mean, the one that helps most the task that it helps least (CAGrad).

Formula: d = g_0 + c |g_0| g_w / |g_w| with g_0 = 1/T sum_i g_i and g_w = sum_i w_i g_i, for the w that makes
g_w . g_0 + c |g_0| |g_w| least, where all w_i >= 0 and sum_i w_i = 1. This d has the largest min_i d . g_i of all with
|d - g_0| <= c |g_0|.

Source: Liu et al. (2021), *Conflict-averse gradient descent*, section 3.1 and algorithm 1; c = 0.4 is one of the
values that it tries. The authors' code also divides d by 1 + c^2, which their paper does not. Symbols: g_i the
gradient of task i over the shared parameters, T tasks; c from 0, the mean gradient, to below 1.

For a given length of g_w the best w is that of the point of a convex hull nearest to the origin; the length
is the root of a falling function, found to the last digits.

Where g_w is 0 (below 1e-4 of the gradients' lengths together), no direction helps all tasks and the formula is not
defined: d is g_0, which is in the ball. The same holds where the ball has no size (below 1e-6).
"""

from typing import Any

import numpy as np
from pydantic import Field

from mtbert.learning.gradients.gramian import Array, GramianRule, in_few_dimensions, nearest_to_origin
from mtbert.settings import Section

SHORTEST = 1e-4  # g_w, where the gradients' squared lengths add up to 1
NO_SIZE = 1e-6  # of the ball, on the same scale
DIGITS = 4 * np.finfo(float).eps


class Settings(Section):
    """Section `cagrad`: how far d may be from the mean gradient, as a share of its length."""

    c: float = Field(default=0.4, ge=0, lt=1)


class CaGrad(GramianRule):
    """Finds the best gradient in a ball around the mean."""

    def counts(self, gramian: Array) -> Array:
        """Return 1/T + w_i c |g_0| / |g_w|, [tasks], from a Gramian [tasks, tasks].

        With the length l of g_w given, |g_w|^2 / (2 l) + l / 2 takes the place of |g_w|, and what is to be least
        becomes |g_w + l / (c |g_0|) g_0|^2. The wanted l is the length of the g_w that this gives: g_w is longer than
        any smaller l, and shorter than any larger one.
        """
        from scipy.optimize import brentq

        columns = in_few_dimensions(gramian)
        mean = columns.mean(axis=1)
        even = np.full(len(columns), 1 / len(columns))
        radius = self.settings.c * np.linalg.norm(mean)
        longest = np.linalg.norm(columns, axis=0).max()
        if radius < NO_SIZE:
            return even

        def weights(length: float) -> Array:
            return nearest_to_origin(columns + (length / radius * mean)[:, None])

        def too_long(length: float) -> float:
            return float(np.linalg.norm(columns @ weights(length)) - length)

        if too_long(SHORTEST) <= 0:
            return even
        length: Any = brentq(too_long, SHORTEST, 1.001 * longest, xtol=DIGITS, rtol=DIGITS)
        best = weights(length)
        return even + radius / np.linalg.norm(columns @ best) * best
