"""How many seeds, or rows of dev, a comparison needs to be decided.

A difference that is truly 0 is proved to be above -margin with probability POWER where

    error <= margin / (t_0.975 + t_POWER),  error^2 = s^2 / n + c

(Schuirmann 1987, one side). n seeds of each side shrink s^2 alone; more rows of dev shrink c. Of a comparison that was
run, s^2 and c are known. The degrees of freedom are taken as 2 (n - 1).
"""

from dataclasses import dataclass

from scipy import special

from mtbert.stats.differences import LEVEL, Difference

POWER = 0.8
MOST = 30  # seeds; more are not asked for
MORE_ROWS = (1, 2, 3, 4, 5, 7, 10)  # times the rows of dev that there are


@dataclass(frozen=True)
class Needed:
    """What would decide: seeds of each side, on so many rows of dev."""

    seeds: int
    rows: int


def needed(found: Difference, margin: float, least: int) -> Needed | None:
    """Return the fewest seeds, from `least` on, that decide; on more rows where no number of seeds does.

    None where the error is not known, or nothing listed decides.
    """
    if found.error is None:
        return None
    counts = found.seeds[0]
    of_seeds = max(0.0, found.error**2 - found.of_rows) * counts
    for times in MORE_ROWS:
        for seeds in range(least, MOST + 1):
            error = (of_seeds / seeds + found.of_rows / times) ** 0.5
            if error * _quantiles(2 * (seeds - 1)) <= margin:
                return Needed(seeds, times * found.rows)
    return None


def _quantiles(freedom: float) -> float:
    return float(special.stdtrit(freedom, 1 - LEVEL / 2) + special.stdtrit(freedom, POWER))
