"""All that the report's pictures and its page show beside the tables: read and computed once, for both."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert.reporting import costs, curves, embeddings, mistakes
from mtbert.reporting.catalog import Catalog
from mtbert.reporting.costs import Cost
from mtbert.reporting.embeddings import Cloud
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.results import Score, Weights


@dataclass(frozen=True)
class Analysis:
    """What came of the runs.

    Attributes:
        losses: training loss by task and variant.
        clouds: embeddings by task and variant, of the first seed.
        answers: what was said of dev rows, by task and variant or ensemble.
        costs: weights, time and scores of each variant and ensemble.
        detailed: names of those that are shown one by one.
    """

    losses: dict[str, dict[str, pd.Series]]
    clouds: dict[str, dict[str, Cloud]]
    answers: dict[str, dict[str, Answers]]
    costs: list[Cost]
    detailed: frozenset[str]


def of(
    build: Path,
    catalog: Catalog,
    scores: Sequence[Score],
    weights: dict[str, Weights],
    runs: Sequence[dict[str, Any]],
) -> Analysis:
    """Of a build directory; scores, weights and runs are from `mtbert.reporting.results`."""
    return Analysis(
        curves.by_task(build, catalog),
        embeddings.clouds(build, catalog),
        mistakes.answers(build, catalog),
        costs.of(catalog, scores, weights, runs),
        frozenset(entry.name for entry in catalog.detailed),
    )
