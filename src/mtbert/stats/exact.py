"""Exact tests of two trained models that are right on nearly the same rows, where an estimated error is too sure."""

import numpy as np
from scipy import stats

from mtbert.stats.differences import LEVEL, Interval

FEW = 16  # clusters that differ: so many or fewer are tested exactly


def of_few(nets: np.ndarray, rows: int) -> tuple[Interval, float]:
    """Return interval and two-sided p of a difference of two means over rows.

    p is of the exact sign-flip test over clusters. With a row a cluster it is McNemar's exact test. The interval is
    from the shares of clusters on which each side is better (Clopper and Pearson 1934, each at half the level).

    Args:
        nets: the sum over rows of ours - other, [clusters].
        rows: their number.
    """
    differing = nets[nets != 0]
    scale = len(nets) * max(1.0, float(np.abs(nets).max())) / rows
    better, worse = (_share(int(np.sum(sign * nets > 0)), len(nets)) for sign in (1, -1))
    interval = scale * (better[0] - worse[1]), scale * (better[1] - worse[0])
    return interval, _sign_flip(differing) if len(differing) else 1.0


def _share(count: int, of: int) -> Interval:
    found = stats.binomtest(count, of).proportion_ci(1 - LEVEL / 2, "exact")
    return float(found.low), float(found.high)


def _sign_flip(differences: np.ndarray) -> float:
    if len(set(np.abs(differences))) == 1:
        return float(stats.binomtest(int(np.sum(differences > 0)), len(differences)).pvalue)
    draws = np.random.default_rng(0)
    test = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=2**FEW, vectorized=True, rng=draws
    )
    return float(test.pvalue)
