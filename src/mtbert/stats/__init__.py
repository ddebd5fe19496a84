"""Intervals and tests of differences, one at a time; `mtbert.judge`, the report and `mtbert compare` use them.

Below `LEAST_CLUSTERS` clusters of rows, or `LEAST_SEEDS` seeds of a side that has seeds, there is a mean and no
interval: so few say little of others.
"""

from mtbert.stats.estimates import (
    LEAST_CLUSTERS,
    LEAST_SEEDS,
    LEVEL,
    ONE_SIDED,
    Estimate,
    Interval,
    difference,
    score,
)
from mtbert.stats.multiple import holm
from mtbert.stats.side import Side, mean_of

__all__ = [
    "LEAST_CLUSTERS", "LEAST_SEEDS", "LEVEL", "ONE_SIDED", "Estimate", "Interval", "Side", "difference", "holm",
    "mean_of", "score",
]  # fmt: skip
