"""How many seeds, or rows of dev, a comparison needs to be decided.

A difference that is truly 0 is proved to be above -margin with probability POWER where

    error <= margin / (t_(1 - level) + t_POWER),  error^2 = s^2 / n + c

(Schuirmann 1987, one side). `level` is ONE_SIDED over the number of comparisons: Holm's first step, which asks
for the most. n seeds of each side shrink s^2 alone; more rows of dev shrink c. Of a comparison that was run, s^2 and c
are known. The degrees of freedom are taken as n - 1 for each side that has seeds; of two sides without seeds, or with
folds, they are those that the difference has, and grow as the rows do.
"""

from dataclasses import dataclass

from scipy import special

from mtbert.stats.estimates import ONE_SIDED, Estimate

POWER = 0.8
MOST = 30  # seeds; more are not asked for
MORE_ROWS = (1, 2, 3, 4, 5, 7, 10)  # times the rows of dev that there are


@dataclass(frozen=True)
class SampleSize:
    """What would decide: seeds of each side that has seeds (0 where neither has), on so many rows of dev."""

    seeds: int
    rows: int


def sample_size(difference: Estimate, margin: float, least: int, comparisons: int) -> SampleSize | None:
    """Return the fewest seeds, from `least` on, that decide on the rows of dev, else on more rows.

    None where the error is not known, or where neither MOST seeds nor ten times the rows decide. A verdict is corrected
    over so many `comparisons`.
    """
    if difference.error is None:
        return None
    with_seeds = sum(count > 0 for count in difference.seeds)
    seeds_there = difference.seeds[0] or difference.seeds[1]
    seed_variance = max(0.0, difference.error**2 - difference.row_variance) * seeds_there
    for times in MORE_ROWS:
        for seeds in range(least, MOST + 1) if with_seeds else [0]:
            error = (seed_variance / max(1, seeds) + difference.row_variance / times) ** 0.5
            freedom = with_seeds * (seeds - 1) or times * (difference.freedom + 1) - 1
            if error * _quantiles(freedom, comparisons) <= margin:
                return SampleSize(seeds, times * difference.rows)
    return None


def _quantiles(freedom: float, comparisons: int) -> float:
    """Return t_(1 - level) + t_POWER."""
    return float(special.stdtrit(freedom, 1 - ONE_SIDED / comparisons) + special.stdtrit(freedom, POWER))
