"""Estimates with errors: the difference of two rows of a table, or a score, over other seeds and other rows of dev.

Both sides are scored on the same rows; their seeds are independent. The mean difference varies with

    error^2 = s_1^2 / n_1 + s_2^2 / n_2 + c

s_i^2: variance over the n_i seeds of a side; it includes what rows change in single seeds.
c: what other rows of dev change alike for all seeds (`mtbert.stats.influence`). It is the mean covariance of two seeds
of the first side, plus that of the second, minus twice the covariance of the sides' means; at least 0.

A side without seeds has s^2 = 0, and adds its whole row variance to c. Two such sides are compared by rows alone: c is
then the variance of their difference, sum_k (I_k - J_k)^2.

Difference / error is compared with Student's t. Its degrees of freedom are Welch's (1947, Biometrika 34); c has
clusters - 1:

    error^4 / (s_1^4 / n_1^2 (n_1 - 1) + s_2^4 / n_2^2 (n_2 - 1) + c^2 / (clusters - 1))

Sides of folds have a formula of their own: `mtbert.stats.folds`.
"""

import math
from dataclasses import dataclass, replace

from scipy import special

from mtbert.stats import folds
from mtbert.stats.side import Side

ROUNDING = 1e-7  # an error below it is of the last digits: the square root of theirs
LEVEL = 0.05  # of every test of two sides; intervals hold 1 - LEVEL
ONE_SIDED = LEVEL / 2  # of every test of one side
LEAST_SEEDS = 3  # of each side that has seeds, for an interval
LEAST_CLUSTERS = 6  # of rows, whether or not the sides differ in them, for an interval
Interval = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A mean with its error: of a difference, first minus second, or of a score.

    Attributes:
        mean: over seeds.
        error: its standard error; None where seeds or clusters are too few to know it.
        freedom: the degrees of freedom of `error`.
        seeds: of ours and of the other; 0 of a side without seeds.
        rows, clusters: of dev, of all tasks that are scored; clusters are those of the task that has fewest.
        bounds: the lowest and the highest possible value; the interval does not go beyond.
        row_variance: c, the part of error^2 that more seeds do not shrink.
        differing: the number of clusters in which the two answer differently; None where nobody counted.
        is_defined: False of a correlation with predictions that are all one value; it counts as 0.
    """

    mean: float
    error: float | None
    freedom: float
    seeds: tuple[int, int]
    rows: int
    clusters: int
    bounds: Interval = (-math.inf, math.inf)
    row_variance: float = 0.0
    differing: int | None = None
    is_defined: bool = True

    @property
    def are_alike(self) -> bool:
        """Whether the two answer alike on every row."""
        return self.differing == 0 and self.error is None and abs(self.mean) < ROUNDING

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval, low and high; None where it is not known."""
        if self.error is None:
            return None
        half = -float(special.stdtrit(self.freedom, ONE_SIDED)) * self.error
        lowest, highest = self.bounds
        return max(lowest, self.mean - half), min(highest, self.mean + half)

    @property
    def p(self) -> float | None:
        """Two-sided, of no difference; 1 where the two are alike, as of McNemar's test; None where it is not known."""
        if self.are_alike:
            return 1.0
        return None if self.error is None else min(1.0, 2 * min(self.p_at_most(0), self.p_at_least(0)))

    def p_at_most(self, bound: float) -> float:
        """Return the one-sided p of the true difference being `bound` or less; 1 where the error is not known."""
        return self._p_below(bound - self.mean)

    def p_at_least(self, bound: float) -> float:
        """Return the one-sided p of the true difference being `bound` or more; 1 where the error is not known."""
        return self._p_below(self.mean - bound)

    def _p_below(self, distance: float) -> float:
        """Return P(error T <= distance), T of Student's t."""
        return 1.0 if self.error is None else float(special.stdtr(self.freedom, distance / self.error))

    @property
    def fewest_seeds(self) -> int | None:
        """The seeds of the side that has fewest; None where neither has seeds."""
        return min(filter(None, self.seeds), default=None)

    def lacks_seeds(self, least: int) -> bool:
        """Return whether a side that has seeds has fewer than `least`."""
        return self.fewest_seeds is not None and self.fewest_seeds < least

    @property
    def turned(self) -> "Estimate":
        """Second minus first."""
        lowest, highest = self.bounds
        return replace(self, mean=-self.mean, seeds=self.seeds[::-1], bounds=(-highest, -lowest))


def difference(ours: Side, other: Side, differing: int | None = None) -> Estimate:
    """Compare two sides that are scored on the same rows; they may have other seeds, or none.

    `differing` is the number of clusters in which the two differ, where these may be few. There is no error where a
    side that has seeds has too few, where there are too few clusters, and where nothing varies.
    """
    mean, seeds = ours.mean - other.mean, (ours.seeds, other.seeds)
    result = Estimate(mean, None, 0.0, seeds, ours.rows, ours.clusters, differing=differing)
    if result.lacks_seeds(LEAST_SEEDS) or ours.clusters < LEAST_CLUSTERS:
        return result
    clusters = ours.clusters if differing is None else differing
    if count := max(ours.folds, other.folds):
        return _of_folds(result, *folds.variance(ours, other), count, clusters)
    row_variance = max(0.0, ours.row_covariance + other.row_covariance - 2 * ours.covariance(other))
    error, freedom = welch((ours.variance, other.variance), result.seeds, row_variance, clusters)
    return replace(result, error=error if error > ROUNDING else None, freedom=freedom, row_variance=row_variance)


def _of_folds(result: Estimate, of_rows: float, of_trainings: float, count: int, clusters: int) -> Estimate:
    """Return the difference of sides with so many folds, by its variances; more seeds shrink no part of its error."""
    total = of_rows + of_trainings
    spread = of_trainings**2 / (count - 1) + of_rows**2 / max(1, clusters - 1)
    error = math.sqrt(total)
    freedom = total**2 / spread if spread else 0.0
    return replace(result, error=error if error > ROUNDING else None, freedom=freedom, row_variance=total)


def welch(
    variances: tuple[float, float], seeds: tuple[int, int], row_variance: float, clusters: int
) -> tuple[float, float]:
    """Return the standard error of a difference and its degrees of freedom, as above.

    Args:
        variances: s_i^2 of each side.
        seeds: n_i of each; 0 of a side without seeds.
        row_variance: c.
        clusters: their number.
    """
    first, second = (variance / count if count else 0.0 for variance, count in zip(variances, seeds, strict=True))
    total = first + second + row_variance
    spread = 0.0
    for part, count in ((first, seeds[0]), (second, seeds[1]), (row_variance, clusters)):
        spread += part**2 / max(1, count - 1)
    return math.sqrt(total), total**2 / spread if spread else 0.0


def score(side: Side, bounds: Interval) -> Estimate:
    """Return a side's mean score with its error: its difference from nothing.

    `bounds` are the lowest and the highest possible score. There is no error where `difference` has none.
    """
    return replace(difference(side, side.constant(0.0)), bounds=bounds)
