"""Intervals and tests of differences, one at a time; `mtbert.claims`, the report and `mtbert compare` use them.

Nothing but a mean is told below `LEAST_CLUSTERS` clusters of rows, since so few say little of others, and
below `LEAST_SEEDS` seeds.
"""

from mtbert.stats.differences import LEAST_CLUSTERS, LEVEL, Difference, Interval, difference, of_models, summary
from mtbert.stats.multiple import holm
from mtbert.stats.side import Side, mean_of

__all__ = [
    "LEAST_CLUSTERS", "LEVEL", "Difference", "Interval", "Side", "difference", "holm", "mean_of", "of_models",
    "summary",
]  # fmt: skip
