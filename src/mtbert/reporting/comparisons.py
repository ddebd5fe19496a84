"""One row of a table against another: difference, interval, and the p of every test that applies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from mtbert import seeding
from mtbert.reporting.claims import Comparison
from mtbert.reporting.evidence import SEED, Evidence
from mtbert.statistics import multiple
from mtbert.statistics.paired import paired
from mtbert.statistics.seeds import Difference


def shared_seeds(evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str) -> list[int]:
    """The seeds of which both sides have a run, made alike, in order."""
    return [seed for seed, unlike in _unlike(evidence, ours, other, metric).items() if not unlike]


def refused(evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str) -> dict[int, list[str]]:
    """The seeds of both sides that cannot be compared, and in what their runs were made otherwise."""
    return {seed: unlike for seed, unlike in _unlike(evidence, ours, other, metric).items() if unlike}


def _unlike(evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str) -> dict[int, list[str]]:
    both = sorted(evidence.seeds(ours, metric) & evidence.seeds(other, metric))
    found = {seed: evidence.conducts.unlike(ours, other, seed) for seed in both}
    return {
        seed: said or ([] if evidence.same_rows(ours, other, metric, seed) else ["rows that are scored"])
        for seed, said in found.items()
    }


def compare(evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str) -> Comparison | None:
    """Ours - other over all seeds that both have, not yet corrected; None where they share none whose runs are alike.

    Several seeds are judged by the hierarchical bootstrap. One seed's p is the cluster bootstrap's; it says how sure
    the examples make us of these two models, not of training them.
    """
    shared = shared_seeds(evidence, ours, other, metric)
    return between(evidence, ours, other, metric, shared)[0] if shared else None


def between(
    evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str, seeds: Sequence[int]
) -> tuple[Comparison, Difference | None]:
    """The same over these seeds, and the p of any bound; None where there is one seed."""
    (mine, my_draws), (theirs, their_draws) = (evidence.scores(side, metric, seeds) for side in (ours, other))
    differences, draws = mine - theirs, my_draws - their_draws
    result = paired(differences, draws, seeds, seeding.stream(SEED, "hierarchical bootstrap"))
    unshared = _unshared(evidence, ours, other, metric, seeds)
    comparison = Comparison(
        tuple(ours), tuple(other), metric, result.difference, result.low, result.high, result.p, result.p, len(seeds),
        evidence.examples(ours, metric, seeds[0]), result.detectable, result.tests, result.seed_sd, result.example_sd,
        unshared,
    )  # fmt: skip
    return comparison, result.several


def _unshared(
    evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str, seeds: Sequence[int]
) -> float | None:
    mine, theirs = (evidence.unshared(side, metric, seeds) for side in (ours, other))
    return None if mine is None or theirs is None else float((mine - theirs).mean())


def compare_rows(
    evidence: Evidence, ours: Sequence[str], other: Sequence[str], metrics: Sequence[str]
) -> Comparison | None:
    """The same on the first of these metrics that both sides have."""
    tried = (compare(evidence, ours, other, metric) for metric in metrics)
    return next((comparison for comparison in tried if comparison is not None), None)


def line(comparison: Comparison | None) -> dict[str, Any]:
    """A comparison as a line of a CSV file: its values, and each test with its p; empty for none."""
    if comparison is None:
        return {}
    sides = {"ours": " ".join(comparison.ours), "other": " ".join(comparison.other)}
    return {**vars(comparison), **sides, "tests": "; ".join(f"{test}: {p:.4g}" for test, p in comparison.tests.items())}


def frame(by_row: Mapping[tuple[str, str], Comparison]) -> pd.DataFrame:
    """One line a comparison of a row with its table's baseline, by table and row; each test's p is a column."""
    lines = [{"table": table, "row": row, **line(one), **one.tests} for (table, row), one in by_row.items()]
    columns = ["table", "row", *Comparison.__dataclass_fields__]
    return pd.DataFrame(lines, columns=None if lines else columns).drop(columns="tests")


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same with p corrected by Holm over all of them."""
    p_values = multiple.holm([comparison.p for comparison in comparisons])
    return [replace(comparison, corrected=float(p)) for comparison, p in zip(comparisons, p_values, strict=True)]
