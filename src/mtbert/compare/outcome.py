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
from mtbert.stats import Difference, difference, influence, of_models
from mtbert.stats.influence import Scored

BOUNDS = {name: (-1.0 if name in metrics.SIGNED else 0.0, 1.0) for name in metrics.SCORES}  # of a score


class Answer(StrEnum):
    """What ours is, against theirs."""

    BETTER = "better"
    WORSE = "worse"
    CLOSE = "apart by less than the margin"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Outcome:
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
) -> Outcome:  # fmt: skip
    """Compare as `mtbert compare` does, which describes each argument; DataError where the two do not fit together."""
    described = tasks.of_build(build)
    for kind, name, known in (("task", task, described), ("metric", metric, metrics.SCORES)):
        if name is not None and name not in known:
            raise UnknownNameError(kind, name, known)
    metric = metric or (described[task].metric if task else "accuracy")
    if margin is None:
        margin = described[task].matters if task else 0.01
    if not 0 <= margin < math.inf:
        raise DataError(f"margin is {margin}; allowed: a number of 0 or more")
    pairs = reading.pair(reading.read(ours, task, build), reading.read(theirs, task, build), metric)
    our_side, their_side = (_scored(pairs, said, metric) for said in (pairs.ours, pairs.theirs))
    right = [said == pairs.labels[:, None] if metric == "accuracy" else said for said in (pairs.ours, pairs.theirs)]
    differing = len(np.unique(pairs.clusters[right[0].mean(axis=1) != right[1].mean(axis=1)]))
    lowest, highest = BOUNDS[metric]
    found = _difference(our_side, their_side, len(pairs.labels), differing)
    found = replace(found, bounds=(lowest - highest, highest - lowest))
    sides = [(ours, _mean(our_side, found.rows, metric)), (theirs, _mean(their_side, found.rows, metric))]
    return Outcome(sides, metric, margin, found, _answer(found, margin))


def score(run: Path, task: str) -> Difference:
    """Score a run's predictions of dev, with the interval over rows; DataError where they are faulty."""
    side, metric = reading.of_run(run, task), tasks.of_build(run.parents[2])[task].metric
    pairs = reading.pair(side, side, metric)
    return _mean(_scored(pairs, pairs.ours, metric), len(pairs.labels), metric)


def _scored(pairs: Pairs, said: np.ndarray, metric: str) -> Scored:
    return influence.scored(metric, pairs.labels, said, pairs.clusters)


def _mean(side: Scored, rows: int, metric: str) -> Difference:
    """Return a side's mean score: its difference from nothing."""
    scores, moves = side
    found = _difference(side, (0 * scores, 0 * moves), rows, len(moves))
    return replace(found, bounds=BOUNDS[metric])


def _difference(ours: Scored, theirs: Scored, rows: int, differing: int) -> Difference:
    """Compare two models, or their seeds; `differing` is the number of clusters in which the two differ."""
    compare = of_models if len(ours[0]) == len(theirs[0]) == 1 else difference
    return compare(ours, theirs, rows, len(ours[1]), differing)


def _answer(found: Difference, margin: float) -> Answer:
    """Answer from the interval: for one training each of these two models, for six seeds or more of the recipes."""
    too_few = max(found.seeds) > 1 and min(found.seeds) < SEEDS
    if found.interval is None or too_few:
        return Answer.OPEN
    low, high = found.interval
    if -margin < low and high < margin:
        return Answer.CLOSE
    return Answer.BETTER if low > 0 else Answer.WORSE if high < 0 else Answer.OPEN


def as_text(outcome: Outcome) -> str:
    """Return a few lines for a terminal."""
    found, ((ours, our_side), (theirs, their_side)) = outcome.difference, outcome.sides
    width = max(map(len, (ours, theirs, "difference")))
    clusters = "" if found.clusters == found.rows else f" in {found.clusters} clusters"
    holds = "This is of these two models: one training each says nothing of other trainings."
    if max(found.seeds) > 1:
        holds = "This is of {} and {} seeds: an answer needs {} of each.".format(*found.seeds, SEEDS)
    return "\n".join([
        f"{outcome.metric} on {found.rows} rows{clusters}",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval, by Student's t",
        f"{ours:<{width}}  {our_side.mean:>8.4f}  {_interval(our_side, '.4f')}",
        f"{theirs:<{width}}  {their_side.mean:>8.4f}  {_interval(their_side, '.4f')}",
        f"{'difference':<{width}}  {found.mean:>+8.4f}  {_interval(found, '+.4f')}",
        "",
        f"p of no difference: {'cannot be told' if found.p is None else f'{found.p:.4g}'}",
        "",
        f"{ours} against {theirs}: {outcome.answer} (margin {outcome.margin:g}).",
        holds,
    ])  # fmt: skip


def _interval(found: Difference, form: str) -> str:
    return " to ".join(format(end, form) for end in found.interval) if found.interval else "cannot be told"
