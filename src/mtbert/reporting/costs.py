"""What a variant costs beside what it scores: weights to store, and time to train."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from mtbert.reporting.catalog import Catalog
from mtbert.reporting.results import Score, Weights

NAMED = 12  # points of a scatter that bear their names; more would hide one another


@dataclass(frozen=True)
class Cost:
    """One variant or ensemble.

    Attributes:
        name, paper: as in the catalog.
        added, trained, times_bert: as in `results.Weights`.
        seconds: training time of one seed, a mean over seeds; of an ensemble, of all members; None where not logged.
        scores: dev scores by metric, one of each seed.
    """

    name: str
    paper: str
    added: int
    trained: int
    times_bert: float
    seconds: float | None
    scores: dict[str, list[float]]

    def mean(self, metric: str) -> float:
        """Over seeds."""
        return fmean(self.scores[metric])

    def spread(self, metric: str) -> float | None:
        """Sample standard deviation over seeds; None with fewer than two."""
        return stdev(self.scores[metric]) if len(self.scores[metric]) > 1 else None


def of(
    catalog: Catalog, scores: Sequence[Score], weights: dict[str, Weights], runs: Sequence[dict[str, Any]]
) -> list[Cost]:
    """Every selected variant and ensemble that has a dev score, in the catalog's order.

    Args:
        catalog: what was asked for.
        scores, weights, runs: from `mtbert.reporting.results`.
    """
    found = []
    for entry in catalog.selected:
        reached: dict[str, list[float]] = {}
        for score in scores:
            if score.variant == entry.name and score.split == "dev" and score.value is not None:
                reached.setdefault(score.metric, []).append(score.value)
        if reached and entry.name in weights:
            size, taken = weights[entry.name], [_seconds(name, runs) for name in entry.members or (entry.name,)]
            seconds = None if None in taken else sum(time for time in taken if time is not None)
            found.append(Cost(entry.name, entry.paper, size.added, size.trained, size.times_bert, seconds, reached))
    return found


def _seconds(variant: str, runs: Sequence[dict[str, Any]]) -> float | None:
    known = [run["training_seconds"] for run in runs if run["variant"] == variant and run["training_seconds"]]
    return fmean(known) if known else None
