"""Intervals and tests of differences, one at a time; `mtbert.claims`, the report and `mtbert compare` use them.

Below `LEAST_CLUSTERS` clusters of rows, and below `LEAST_SEEDS` seeds, there is a mean and no interval: so few say
little of others.
"""

from mtbert.stats.differences import LEAST_CLUSTERS, LEVEL, Difference, Interval, difference, of_models, summary
from mtbert.stats.multiple import holm
from mtbert.stats.side import Side, mean_of

__all__ = [
    "LEAST_CLUSTERS", "LEVEL", "Difference", "Interval", "Side", "difference", "holm", "mean_of", "of_models",
    "summary",
]  # fmt: skip
