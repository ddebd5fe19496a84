"""The difference of two rows of a table, over other seeds and other rows of dev.

Both sides are scored on the same rows; their seeds are independent. The mean difference varies with

    error^2 = s_1^2 / n_1 + s_2^2 / n_2 + c

s_i^2: variance over the n_i seeds of a side; what rows change for single seeds is part of it.
c: what other rows of dev change alike for all seeds (`mtbert.stats.influence`): the mean covariance of two seeds, of
one side and of the other, less twice the covariance of the sides' means; no less than 0.

Difference / error is compared with Student's t. Its degrees of freedom are Welch's (1947, Biometrika 34), with
clusters - 1 of c:

    error^4 / (s_1^4 / n_1^2 (n_1 - 1) + s_2^4 / n_2^2 (n_2 - 1) + c^2 / (clusters - 1))
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
from scipy import special

from mtbert.stats.influence import Scored

ROUNDING = 1e-12  # an error below it is of the last digits
LEVEL = 0.05  # of every test of two sides; intervals hold 1 - LEVEL
LEAST_SEEDS = 3  # of each side, for an interval
LEAST_CLUSTERS = 6  # that differ, for an interval
Interval = tuple[float, float]


@dataclass(frozen=True)
class Difference:
    """A mean difference, ours - other; or a mean score, where there is no other.

    Attributes:
        mean: over seeds.
        error: its standard error; None where seeds or clusters are too few to know it.
        freedom: the degrees of freedom of `error`.
        seeds: of ours and of the other.
        rows, clusters: of dev, of all tasks that are scored; clusters are those of the task that has fewest.
        bounds: the lowest and the highest that it can be; the interval ends there.
        of_rows: c, the part of error^2 that more seeds do not shrink.
    """

    mean: float
    error: float | None
    freedom: float
    seeds: tuple[int, int]
    rows: int
    clusters: int
    bounds: Interval = (-math.inf, math.inf)
    of_rows: float = 0.0

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval, low and high; None where it is not known."""
        if self.error is None:
            return None
        half = -float(special.stdtrit(self.freedom, LEVEL / 2)) * self.error
        lowest, highest = self.bounds
        return max(lowest, self.mean - half), min(highest, self.mean + half)

    @property
    def p(self) -> float | None:
        """Two-sided, of no difference; None where it is not known."""
        return None if self.error is None else min(1.0, 2 * min(self.p_at_most(0), self.p_at_least(0)))

    def p_at_most(self, bound: float) -> float:
        """Return the one-sided p of the true difference being `bound` or less; 1 where the error is not known."""
        return 1.0 if self.error is None else float(p_below(bound - self.mean, self.error, self.freedom))

    def p_at_least(self, bound: float) -> float:
        """Return the one-sided p of the true difference being `bound` or more; 1 where the error is not known."""
        return 1.0 if self.error is None else float(p_below(self.mean - bound, self.error, self.freedom))


def p_below(distance: np.ndarray | float, error: np.ndarray | float, freedom: np.ndarray | float) -> np.ndarray:
    """Return P(error T <= distance), T of Student's t; arrays of one shape."""
    return special.stdtr(freedom, np.asarray(distance) / error)


def difference(ours: Scored, other: Scored, rows: int, clusters: int, differing: int | None = None) -> Difference:
    """Compare two sides by their scores, and how the same clusters of rows move these; they may have other seeds.

    Args:
        ours: of a side.
        other: of the other.
        rows: their number.
        clusters: their number.
        differing: the number of clusters in which the sides differ, where these may be few.
    """
    (scores, moves), (other_scores, other_moves) = ours, other
    mean, seeds = float(scores.mean() - other_scores.mean()), (len(scores), len(other_scores))
    if min(seeds) < LEAST_SEEDS or clusters < LEAST_CLUSTERS:
        return Difference(mean, None, 0.0, seeds, rows, clusters)
    of_rows = shared(moves) + shared(other_moves) - 2 * float(moves.mean(axis=1) @ other_moves.mean(axis=1))
    of_rows = max(0.0, of_rows)
    error, freedom = welch([_of_seeds(*ours), _of_seeds(*other)], seeds, of_rows, differing or clusters)
    return replace(_known(mean, float(error), float(freedom), seeds, rows, clusters), of_rows=of_rows)


def of_models(ours: Scored, other: Scored, rows: int, clusters: int, differing: int) -> Difference:
    """Compare two trained models: only other rows would change their difference. Arguments as for `difference`."""
    (mean,), moves = (one - another for one, another in zip(ours, other, strict=True))
    error = float((moves**2).sum()) ** 0.5 if clusters >= LEAST_CLUSTERS else 0.0
    return _known(float(mean), error, max(1, differing - 1), (1, 1), rows, clusters)


def _known(mean: float, error: float, freedom: float, seeds: tuple[int, int], rows: int, clusters: int) -> Difference:
    """Return a difference whose error is not known where nothing varies."""
    return Difference(mean, error if error > ROUNDING else None, freedom, seeds, rows, clusters)


def welch(
    variances: Sequence[np.ndarray | float], seeds: Sequence[int], of_rows: np.ndarray | float, clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return standard error and degrees of freedom, as above.

    Args:
        variances: s_i^2 of each side, arrays of one shape.
        seeds: n_i of each.
        of_rows: c.
        clusters: their number.
    """
    parts = np.broadcast_arrays(*(np.asarray(v) / n for v, n in zip(variances, seeds, strict=True)), of_rows)
    total = np.sum(parts, axis=0)
    spread = np.sum([v**2 / max(1, n - 1) for v, n in zip(parts, (*seeds, clusters), strict=True)], axis=0)
    return np.sqrt(total), total**2 / np.where(spread == 0, 1, spread)


def shared(moves: np.ndarray) -> float:
    """Return what other rows change alike for all seeds: the mean covariance of two seeds, of [clusters, seeds]."""
    count = moves.shape[1]
    of_sum, of_each = (moves.sum(axis=1) ** 2).sum(), (moves**2).sum()
    return float(of_sum - of_each) / (count * (count - 1))


def _of_seeds(scores: np.ndarray, moves: np.ndarray) -> float:
    """Return s^2; no less than what rows change for single seeds, as few seeds may agree by luck."""
    return max(float(scores.var(ddof=1)), float((moves**2).sum(axis=0).mean()) - shared(moves))


def summary(scores: Sequence[float]) -> tuple[float, Interval | None]:
    """Return mean and 95 % interval over seeds; None where there are too few."""
    mean, count = fmean(scores), len(scores)
    if count < LEAST_SEEDS:
        return mean, None
    half = -float(special.stdtrit(count - 1, LEVEL / 2)) * stdev(scores) / count**0.5
    return mean, (mean - half, mean + half)
