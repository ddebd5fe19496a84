"""Two models on the same rows: exact McNemar."""

from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as _mcnemar

from mtbert.statistics.intervals import LEVEL


def mcnemar(ours: np.ndarray, other: np.ndarray) -> float:
    """Two-sided p of equal accuracy by the exact McNemar test: a coin for each row that one side alone has right.

    For rows that are independent; where rows share a sentence use the cluster bootstrap. It is discrete: with few such
    rows its level is below 5 %, as `mcnemar_level` says.

    Args:
        ours, other: whether each row is right, in the same order.
    """
    ours, other = np.asarray(ours, dtype=bool), np.asarray(other, dtype=bool)
    table = [[int(np.sum(a & b)) for b in (other, ~other)] for a in (ours, ~ours)]
    found: Any = _mcnemar(table, exact=True)
    return float(found.pvalue)


def mcnemar_level(discordant: int) -> float:
    """The chance that McNemar's p is below 5 % where there is no difference and this many rows are discordant."""
    counts = np.arange(discordant + 1)
    p = np.minimum(1, 2 * stats.binom.cdf(np.minimum(counts, discordant - counts), discordant, 0.5))
    return float(stats.binom.pmf(counts, discordant, 0.5)[p < LEVEL].sum())
