"""Compare two sides by `mtbert.stats`, and word the result."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from mtbert import tasks
from mtbert.claims import SEEDS
from mtbert.compare import reading
from mtbert.compare.reading import Pairs
from mtbert.errors import DataError, UnknownNameError
from mtbert.results import metrics
from mtbert.stats import Difference, Side, difference, influence, of_models

BOUNDS = {name: (-1.0 if name in metrics.SIGNED else 0.0, 1.0) for name in metrics.SCORES}  # of a score


class Answer(StrEnum):
    """What ours is, against theirs."""

    BETTER = "better"
    WORSE = "worse"
    CLOSE = "apart by less than the margin"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class FileComparison:
    """The result of a comparison.

    Attributes:
        sides: by name as it was given, the mean score; ours first.
        metric: what they are scored by.
        margin: the smallest difference that matters.
        difference: ours - theirs.
        answer: of ours, against theirs.
    """

    sides: list[tuple[str, Difference]]
    metric: str
    margin: float
    difference: Difference
    answer: Answer


def compare_files(
    ours: str, theirs: str, task: str | None = None, metric: str | None = None, margin: float | None = None,
    build: Path = Path("build"),
) -> FileComparison:  # fmt: skip
    """Compare as `mtbert compare` does, which describes each argument; DataError where the two do not fit together."""
    described = tasks.of_build(build)
    for kind, name, allowed in (("task", task, described), ("metric", metric, metrics.SCORES)):
        if name is not None and name not in allowed:
            raise UnknownNameError(kind, name, allowed)
    metric = metric or (described[task].metric if task else "accuracy")
    if margin is None:
        margin = described[task].matters if task else 0.01
    if not 0 <= margin < math.inf:
        raise DataError(f"margin is {margin}; allowed: a number of 0 or more")
    pairs = reading.pair(reading.read(ours, task, build), reading.read(theirs, task, build), metric)
    our_side = _side(pairs, pairs.ours, metric)
    their_side = _side(pairs, pairs.theirs, metric)
    lowest, highest = BOUNDS[metric]
    result = _difference(our_side, their_side, _differing(pairs, metric))
    result = replace(result, bounds=(lowest - highest, highest - lowest))
    sides = [(ours, _mean(our_side, metric)), (theirs, _mean(their_side, metric))]
    return FileComparison(sides, metric, margin, result, _answer(result, margin))


def score(run: Path, task: str) -> Difference:
    """Score a run's predictions of dev, with the interval over rows; DataError where they are faulty."""
    side, metric = reading.of_run(run, task), tasks.of_build(run.parents[2])[task].metric
    pairs = reading.pair(side, side, metric)
    return _mean(_side(pairs, pairs.ours, metric), metric)


def _side(pairs: Pairs, predictions: np.ndarray, metric: str) -> Side:
    return influence.scored(metric, pairs.labels, predictions, pairs.clusters)


def _differing(pairs: Pairs, metric: str) -> int:
    """Return the number of clusters in which the sides' mean answers differ; for accuracy, in which they are right."""
    ours, theirs = pairs.ours, pairs.theirs
    if metric == "accuracy":
        labels = pairs.labels[:, None]
        ours, theirs = ours == labels, theirs == labels
    differs = ours.mean(axis=1) != theirs.mean(axis=1)
    return len(np.unique(pairs.clusters[differs]))


def _mean(side: Side, metric: str) -> Difference:
    """Return a side's mean score: its difference from nothing."""
    return replace(_difference(side, side.constant(0.0), side.clusters), bounds=BOUNDS[metric])


def _difference(ours: Side, theirs: Side, differing: int) -> Difference:
    """Compare two models, or their seeds; `differing` is the number of clusters in which the two differ."""
    compare = of_models if ours.seeds == theirs.seeds == 1 else difference
    return compare(ours, theirs, differing)


def _answer(result: Difference, margin: float) -> Answer:
    """Answer from the interval: for one training each of these two models, for six seeds or more of the recipes."""
    too_few = max(result.seeds) > 1 and min(result.seeds) < SEEDS
    if result.interval is None or too_few:
        return Answer.OPEN
    low, high = result.interval
    if -margin < low and high < margin:
        return Answer.CLOSE
    if low > 0:
        return Answer.BETTER
    return Answer.WORSE if high < 0 else Answer.OPEN


def as_text(comparison: FileComparison) -> str:
    """Return a few lines for a terminal."""
    result = comparison.difference
    (ours, our_side), (theirs, their_side) = comparison.sides
    width = max(map(len, (ours, theirs, "difference")))
    clusters = "" if result.clusters == result.rows else f" in {result.clusters} clusters"
    holds = "This is of these two models: one training each says nothing of other trainings."
    if max(result.seeds) > 1:
        holds = "This is of {} and {} seeds: an answer needs {} of each.".format(*result.seeds, SEEDS)
    return "\n".join([
        f"{comparison.metric} on {result.rows} rows{clusters}",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval, by Student's t",
        f"{ours:<{width}}  {our_side.mean:>8.4f}  {_interval(our_side, '.4f')}",
        f"{theirs:<{width}}  {their_side.mean:>8.4f}  {_interval(their_side, '.4f')}",
        f"{'difference':<{width}}  {result.mean:>+8.4f}  {_interval(result, '+.4f')}",
        "",
        f"p of no difference: {'cannot be told' if result.p is None else f'{result.p:.4g}'}",
        "",
        f"{ours} against {theirs}: {comparison.answer} (margin {comparison.margin:g}).",
        holds,
    ])  # fmt: skip


def _interval(result: Difference, form: str) -> str:
    if result.interval is None:
        return "cannot be told"
    return " to ".join(format(end, form) for end in result.interval)
