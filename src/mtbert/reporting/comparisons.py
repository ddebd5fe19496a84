"""One row of a table against another: difference, interval, and the p of every test that applies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mtbert import seeding
from mtbert.reporting.claims import Comparison
from mtbert.reporting.evidence import SEED, Evidence
from mtbert.statistics import bootstrap, multiple, paired, seeds
from mtbert.tasks import TASKS


def compare(evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str) -> Comparison | None:
    """Ours - other over the seeds that both have, not yet corrected; None where they share none.

    Several seeds are judged by the hierarchical bootstrap. One seed's p is McNemar's for an accuracy whose rows share
    no sentence, else the cluster bootstrap's; it says how sure the examples make us of these two models, not of
    training them.
    """
    shared = sorted(evidence.seeds(ours, metric) & evidence.seeds(other, metric))
    if not shared:
        return None
    (mine, my_draws), (theirs, their_draws) = (evidence.scores(side, metric, shared) for side in (ours, other))
    differences, draws = mine - theirs, my_draws - their_draws
    tests = _of_each_seed(evidence, ours, other, metric, shared, draws)
    if len(shared) > 1:
        found = seeds.hierarchical(differences, draws, seeding.stream(SEED, "hierarchical bootstrap"))
        low, high, p, error = found.low, found.high, float(found.p), np.sqrt(found.of_seeds + found.of_examples)
        tests = {"hierarchical bootstrap": p, "sign flip": float(seeds.sign_flip(differences)), **tests}
    else:
        low, high = bootstrap.interval(draws[:, 0])
        p, error = _of_one_seed(evidence, metric, tests), draws[:, 0].std()
    detectable = seeds.detectable(float(high - low) / 2, float(error))
    return Comparison(
        tuple(ours), tuple(other), metric, float(differences.mean()), float(low), float(high), p, p, len(shared),
        evidence.examples(metric), detectable, tests,
    )  # fmt: skip


def compare_rows(
    evidence: Evidence, ours: Sequence[str], other: Sequence[str], metrics: Sequence[str]
) -> Comparison | None:
    """The same on the first of these metrics that both sides have."""
    tried = (compare(evidence, ours, other, metric) for metric in metrics)
    return next((found for found in tried if found is not None), None)


def line(found: Comparison | None) -> dict[str, Any]:
    """A comparison as a line of a CSV file: its values, and each test with its p; empty for none."""
    if found is None:
        return {}
    sides = {"ours": " ".join(found.ours), "other": " ".join(found.other)}
    return {**vars(found), **sides, "tests": "; ".join(f"{test}: {p:.4g}" for test, p in found.tests.items())}


def frame(found: Mapping[tuple[str, str], Comparison]) -> pd.DataFrame:
    """One line a comparison of a row with its table's baseline, by table and row; each test's p is a column."""
    lines = [{"table": table, "row": row, **line(one), **one.tests} for (table, row), one in found.items()]
    columns = ["table", "row", *Comparison.__dataclass_fields__]
    return pd.DataFrame(lines, columns=None if lines else columns).drop(columns="tests")


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """The same with p corrected by Holm over all of them."""
    p_values = multiple.holm([comparison.p for comparison in found])
    return [replace(comparison, corrected=p) for comparison, p in zip(found, p_values, strict=True)]


def _of_each_seed(
    evidence: Evidence, ours: Sequence[str], other: Sequence[str], metric: str, shared: Sequence[int], draws: np.ndarray
) -> dict[str, float]:
    """The cluster bootstrap's p of each seed, and McNemar's of accuracies."""
    tests = {f"bootstrap, seed {seed}": float(bootstrap.p_value(draws[:, at])) for at, seed in enumerate(shared)}
    for seed in shared if metric in TASKS else []:
        mine, theirs = (evidence.right(side, metric, seed) for side in (ours, other))
        if mine is not None and theirs is not None:
            tests[f"McNemar, seed {seed}"] = paired.mcnemar(mine, theirs)
    return tests


def _of_one_seed(evidence: Evidence, metric: str, tests: dict[str, float]) -> float:
    of_rows = metric in TASKS and evidence.tasks[metric].alone
    test = "McNemar" if of_rows and any(name.startswith("McNemar") for name in tests) else "bootstrap"
    return next(p for name, p in tests.items() if name.startswith(test))
