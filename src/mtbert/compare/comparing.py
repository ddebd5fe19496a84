"""Compare two sides by `mtbert.stats`, and word the result."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtbert import tasks
from mtbert.claims import SEEDS
from mtbert.claims.ways import Standing
from mtbert.compare import pairing, reading
from mtbert.compare.pairing import Pairs
from mtbert.errors import DataError, UnknownNameError
from mtbert.results import metrics
from mtbert.stats import Difference, Side, difference, influence, of_models
from mtbert.tasks import METRIC_NAMES, Task, Tasks

STANDINGS = {
    Standing.BETTER: "better", Standing.WORSE: "worse", Standing.CLOSE: "apart by less than the margin",
    Standing.OPEN: "cannot be told",
}  # fmt: skip
LEAST = {name: -1.0 if name in metrics.SIGNED else 0.0 for name in METRIC_NAMES}  # of a score, whose most is 1


class FileScore(NamedTuple):
    """The mean score of a side, by its name as it was given."""

    name: str
    score: Difference


@dataclass(frozen=True)
class FileComparison:
    """The result of a comparison.

    Attributes:
        ours, theirs: what each side scores.
        metric: what they are scored by.
        margin: the smallest difference that matters.
        difference: ours - theirs.
        standing: of ours, against theirs.
    """

    ours: FileScore
    theirs: FileScore
    metric: str
    margin: float
    difference: Difference
    standing: Standing


def compare_files(
    ours: str, theirs: str, task: str | None = None, metric: str | None = None, margin: float | None = None,
    build: Path = Path("build"),
) -> FileComparison:  # fmt: skip
    """Compare as `mtbert compare` does, which describes each argument; DataError where the two do not fit together."""
    described = _task(task, tasks.of_build(build))
    if metric is not None and metric not in METRIC_NAMES:
        raise UnknownNameError("metric", metric, METRIC_NAMES)
    metric = metric or (described.metric if described else "accuracy")
    if margin is None:
        margin = described.matters if described else 0.01
    if not 0 <= margin < math.inf:
        raise DataError(f"margin is {margin}; allowed: a number of 0 or more")
    pairs = pairing.pair(reading.read(ours, task, build), reading.read(theirs, task, build), metric, described)
    classes = _f1_classes(metric, pairs, described)
    our_side = influence.scored(metric, pairs.labels, pairs.ours, pairs.clusters, classes)
    their_side = influence.scored(metric, pairs.labels, pairs.theirs, pairs.clusters, classes)
    most = 1.0 - LEAST[metric]
    result = replace(_difference(our_side, their_side, _differing(pairs, metric)), bounds=(-most, most))
    return FileComparison(
        ours=FileScore(ours, _score(our_side, metric)),
        theirs=FileScore(theirs, _score(their_side, metric)),
        metric=metric,
        margin=margin,
        difference=result,
        standing=_standing(result, margin),
    )


def score(run: Path, task: str) -> Difference:
    """Score a run's predictions of dev, with the interval over rows; DataError where they are faulty."""
    rows, described = reading.of_run(run, task), tasks.of_build(run.parents[2])[task]
    pairs = pairing.pair(rows, rows, described.metric, described)
    side = influence.of_task(described, pairs.labels, pairs.ours, pairs.clusters)
    return _score(side, described.metric)


def _task(name: str | None, described: Tasks) -> Task | None:
    """Return the task of this name; None without a name."""
    if name is not None and name not in described:
        raise UnknownNameError("task", name, described)
    return None if name is None else described[name]


def _f1_classes(metric: str, pairs: Pairs, task: Task | None) -> Sequence[float]:
    """Return the classes that F1 may be the mean over; of each side, those of them that it has.

    Without a task they are those of any label or prediction: for `f1` class 1 alone where these are 0 and 1.
    """
    if task is not None:
        return metrics.f1_classes(metric, task.classes)
    classes = np.unique(np.concatenate([pairs.labels, pairs.ours.ravel(), pairs.theirs.ravel()])).tolist()
    return [1.0] if metric == "f1" and {*classes} <= {0.0, 1.0} else classes


def _differing(pairs: Pairs, metric: str) -> int:
    """Return the number of clusters in which the sides' mean answers differ; for accuracy, in which they are right."""
    ours, theirs = pairs.ours, pairs.theirs
    if metric == "accuracy":
        labels = pairs.labels[:, None]
        ours, theirs = ours == labels, theirs == labels
    differs = ours.mean(axis=1) != theirs.mean(axis=1)
    return len(np.unique(pairs.clusters[differs]))


def _score(side: Side, metric: str) -> Difference:
    """Return a side's mean score: its difference from nothing."""
    return replace(_difference(side, side.constant(0.0), side.clusters), bounds=(LEAST[metric], 1.0))


def _difference(ours: Side, theirs: Side, differing: int) -> Difference:
    """Compare two models, or their seeds; `differing` is the number of clusters in which the two differ."""
    compare = of_models if ours.seeds == theirs.seeds == 1 else difference
    return compare(ours, theirs, differing)


def _standing(result: Difference, margin: float) -> Standing:
    """Judge by the interval: of one training each these two models, of six seeds or more the recipes."""
    has_few_seeds = max(result.seeds) > 1 and min(result.seeds) < SEEDS
    if result.interval is None or has_few_seeds:
        return Standing.OPEN
    low, high = result.interval
    if -margin < low and high < margin:
        return Standing.CLOSE
    if low > 0:
        return Standing.BETTER
    return Standing.WORSE if high < 0 else Standing.OPEN


def as_text(comparison: FileComparison) -> str:
    """Return a few lines for a terminal."""
    result, ours, theirs = comparison.difference, comparison.ours, comparison.theirs
    width = max(map(len, (ours.name, theirs.name, "difference")))
    clusters = "" if result.clusters == result.rows else f" in {result.clusters} clusters"
    scope = "This is of these two models: one training each says nothing of other trainings."
    if max(result.seeds) > 1:
        scope = "This is of {} and {} seeds: an answer needs {} of each.".format(*result.seeds, SEEDS)
    return "\n".join([
        f"{comparison.metric} on {result.rows} rows{clusters}",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval, by Student's t",
        f"{ours.name:<{width}}  {ours.score.mean:>8.4f}  {_interval(ours.score, '.4f')}",
        f"{theirs.name:<{width}}  {theirs.score.mean:>8.4f}  {_interval(theirs.score, '.4f')}",
        f"{'difference':<{width}}  {result.mean:>+8.4f}  {_interval(result, '+.4f')}",
        "",
        f"p of no difference: {'cannot be told' if result.p is None else f'{result.p:.4g}'}",
        "",
        f"{ours.name} against {theirs.name}: {STANDINGS[comparison.standing]} (margin {comparison.margin:g}).",
        scope,
    ])  # fmt: skip


def _interval(result: Difference, form: str) -> str:
    if result.interval is None:
        return "cannot be told"
    return " to ".join(format(end, form) for end in result.interval)
