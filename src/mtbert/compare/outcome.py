"""Compare two sides by `mtbert.stats`, and word the result."""

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from mtbert import claims, metrics
from mtbert.claims import SEEDS
from mtbert.compare import reading
from mtbert.compare.reading import Pairs
from mtbert.errors import DataError, UnknownNameError
from mtbert.stats import Difference, difference, influence, of_models
from mtbert.stats.influence import Scored
from mtbert.tasks import TASKS


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
    for kind, name, known in (("task", task, TASKS), ("metric", metric, metrics.SCORES)):
        if name is not None and name not in known:
            raise UnknownNameError(kind, name, known)
    metric = metric or (TASKS[task].metric if task else "accuracy")
    if margin is None:
        margin = claims.load().margins.get(task or "", 0.01)
    if not 0 <= margin < math.inf:
        raise DataError(f"margin is {margin}; allowed: a number of 0 or more")
    pairs = reading.pair(reading.read(ours, task, build), reading.read(theirs, task, build), metric)
    our_side, their_side = (_scored(pairs, said, metric) for said in (pairs.ours, pairs.theirs))
    right = [said == pairs.labels[:, None] if metric == "accuracy" else said for said in (pairs.ours, pairs.theirs)]
    differing = len(np.unique(pairs.clusters[right[0].mean(axis=1) != right[1].mean(axis=1)]))
    found = _difference(our_side, their_side, len(pairs.labels), differing)
    sides = [(ours, _mean(our_side, found.rows)), (theirs, _mean(their_side, found.rows))]
    return Outcome(sides, metric, margin, found, _answer(found, margin))


def score(run: Path, task: str) -> Difference:
    """Score a run's predictions of dev, with the interval over rows; DataError where they are faulty."""
    side, metric = reading.of_run(run, task), TASKS[task].metric
    pairs = reading.pair(side, side, metric)
    return _mean(_scored(pairs, pairs.ours, metric), len(pairs.labels))


def _scored(pairs: Pairs, said: np.ndarray, metric: str) -> Scored:
    return influence.scored(metric, pairs.labels, said, pairs.clusters)


def _mean(side: Scored, rows: int) -> Difference:
    """Return a side's mean score: its difference from nothing."""
    scores, moves = side
    return _difference(side, (0 * scores, 0 * moves), rows, len(moves))


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
    found, ((ours, _), (theirs, _)) = outcome.difference, outcome.sides
    rows = [*outcome.sides, ("difference", found)]
    width = max(len(name) for name, _ in rows)
    of = "of these two models: one training each says nothing of other trainings"
    if max(found.seeds) > 1:
        of = f"of {found.seeds[0]} and {found.seeds[1]} seeds; an answer needs {SEEDS} of each"
    return "\n".join([
        f"{outcome.metric} on {found.rows} rows in {found.clusters} clusters",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval",
        *(f"{name:<{width}}  {one.mean:>{'+' * (one is found)}8.4f}  {_interval(one)}" for name, one in rows),
        "",
        f"p of no difference: {'cannot be told' if found.p is None else f'{found.p:.4g}'}",
        "",
        f"{ours} against {theirs}: {outcome.answer} (margin {outcome.margin:g}; {of}).",
    ])  # fmt: skip


def _interval(found: Difference) -> str:
    return "cannot be told" if found.interval is None else "{:.4f} to {:.4f}".format(*found.interval)
