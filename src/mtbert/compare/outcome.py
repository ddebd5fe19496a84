"""Compare two sides by `mtbert.stats`, and word the result."""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from mtbert import claims, metrics
from mtbert.claims import SEEDS
from mtbert.compare import reading
from mtbert.compare.reading import Pairs
from mtbert.errors import DataError, UnknownNameError
from mtbert.settings import NAME
from mtbert.stats import LEAST_CLUSTERS, LEVEL, Difference, difference, influence, of_models
from mtbert.stats.exact import FEW, of_few
from mtbert.stats.influence import Scored
from mtbert.tasks import TASKS

MARGIN = 0.01  # without a task


class Answer(StrEnum):
    """What ours is, against theirs."""

    BETTER = "better"
    SLIGHTLY_BETTER = "better by less than the margin"
    WORSE = "worse"
    SLIGHTLY_WORSE = "worse by less than the margin"
    CLOSE = "apart by less than the margin"
    NOT_BETTER = "not better by the margin, and perhaps worse"
    NOT_WORSE = "not worse by the margin, and perhaps better"
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
        notes: sentences on clusters and on what was left out.
    """

    sides: list[tuple[str, Difference]]
    metric: str
    margin: float
    difference: Difference
    answer: Answer
    notes: list[str]


def compare_files(
    ours: str, theirs: str, task: str | None = None, metric: str | None = None, margin: float | None = None,
    build: Path = Path("build"),
) -> Outcome:  # fmt: skip
    """Compare as `mtbert compare` does, which describes each argument; DataError where the two do not fit together."""
    if task is None and metric is None:
        raise DataError(f"needs --task, one of {', '.join(TASKS)}, or --metric, one of {', '.join(metrics.SCORES)}")
    for kind, name, known in (("task", task, TASKS), ("metric", metric, metrics.SCORES)):
        if name is not None and name not in known:
            raise UnknownNameError(kind, name, known)
    metric = metric or TASKS[str(task)].metric
    if margin is None:
        margin = claims.load().margins.get(task, MARGIN) if task else MARGIN
    if not (math.isfinite(margin) and margin >= 0):
        raise DataError(f"margin is {margin}; allowed: a number of 0 or more")
    our_rows, their_rows = (reading.read(_path(source, task, build)) for source in (ours, theirs))
    pairs = reading.pair(our_rows, their_rows, metric)
    our_side, their_side = (_scored(pairs, said, metric) for said in (pairs.ours, pairs.theirs))
    found = _difference(pairs, our_side, their_side, metric)
    sides = [(ours, _mean(pairs, our_side)), (theirs, _mean(pairs, their_side))]
    return Outcome(sides, metric, margin, found, _answer(found, margin), pairs.notes)


def score(file: Path, metric: str) -> Difference:
    """Score a file of predictions, with its interval over rows; DataError where it is faulty."""
    side = reading.read(str(file))
    pairs = reading.pair(side, side, metric)
    return _mean(pairs, _scored(pairs, pairs.ours, metric))


def _path(source: str, task: str | None, build: Path) -> str:
    """Return the files of a variant's seeds, of whose name there is no file; else the source."""
    folder = build / "runs" / source
    if task is not None and re.fullmatch(NAME, source) and folder.is_dir() and not Path(source).exists():
        return str(folder / reading.SEED / "predictions" / f"{task}-dev.parquet")
    return source


def _scored(pairs: Pairs, said: np.ndarray, metric: str) -> Scored:
    return influence.scored(metric, pairs.labels, said, pairs.clusters)


def _mean(pairs: Pairs, side: Scored) -> Difference:
    """Return a side's mean score: its difference from nothing."""
    (scores, moves), rows, clusters = side, len(pairs.labels), len(np.unique(pairs.clusters))
    if len(scores) == 1:
        return of_models(float(scores[0]), moves[:, 0], rows, clusters, clusters)
    return difference(side, (0 * scores, 0 * moves), rows, clusters)


def _difference(pairs: Pairs, ours: Scored, theirs: Scored, metric: str) -> Difference:
    rows, clusters = len(pairs.labels), len(np.unique(pairs.clusters))
    right = [said == pairs.labels[:, None] if metric == "accuracy" else said for said in (pairs.ours, pairs.theirs)]
    by_row = right[0].mean(axis=1) - right[1].mean(axis=1)
    differing = len(np.unique(pairs.clusters[by_row != 0]))
    if len(ours[0]) > 1 or len(theirs[0]) > 1:
        return difference(ours, theirs, rows, clusters, differing)
    (mean,), moves = (one - other for one, other in zip(ours, theirs, strict=True))
    found = of_models(float(mean), moves[:, 0], rows, clusters, differing)
    if clusters >= LEAST_CLUSTERS and metric == "accuracy" and (differing <= FEW or found.error is None):
        return replace(found, exact=of_few(np.bincount(pairs.clusters, by_row), rows))
    return found


def _answer(found: Difference, margin: float) -> Answer:
    """Answer from p and interval: for one training each of these two models, for six seeds or more of the recipes."""
    too_few = max(found.seeds) > 1 and min(found.seeds) < SEEDS
    if found.interval is None or found.p is None or too_few:
        return Answer.OPEN
    not_worse, not_better = found.interval[0] > -margin, found.interval[1] < margin
    if found.p <= LEVEL:
        sided = (Answer.BETTER, Answer.SLIGHTLY_BETTER) if found.mean > 0 else (Answer.WORSE, Answer.SLIGHTLY_WORSE)
        return sided[not_worse and not_better]
    if not_worse and not_better:
        return Answer.CLOSE
    return Answer.NOT_BETTER if not_better else Answer.NOT_WORSE if not_worse else Answer.OPEN


def as_text(outcome: Outcome) -> str:
    """Return a few lines for a terminal."""
    found = outcome.difference
    seeds = "" if max(found.seeds) == 1 else f", {found.seeds[0]} and {found.seeds[1]} seeds"
    rows = [*outcome.sides, ("difference", found)]
    width = max(len(name) for name, _ in rows)
    return "\n".join([
        f"{outcome.metric} on {found.rows} rows in {found.clusters} clusters{seeds}",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval",
        *(f"{name:<{width}}  {one.mean:>{'+' * (one is found)}8.4f}  {_interval(one)}" for name, one in rows),
        "",
        f"p of no difference: {'cannot be told' if found.p is None else f'{found.p:.4g}'}",
        *outcome.notes,
        "",
        verdict(outcome),
    ])  # fmt: skip


def as_values(outcome: Outcome) -> dict[str, Any]:
    """Return the same as values for JSON; scores and p are not rounded."""
    found = outcome.difference
    sides = zip(("ours", "theirs"), outcome.sides, strict=True)
    low, high = found.interval or (None, None)
    return {
        **{side: {"name": name, "score": one.mean, "interval": one.interval} for side, (name, one) in sides},
        "metric": outcome.metric, "rows": found.rows, "clusters": found.clusters, "seeds": found.seeds,
        "difference": found.mean, "low": low, "high": high, "p": found.p, "margin": outcome.margin,
        "answer": outcome.answer, "verdict": verdict(outcome), "notes": outcome.notes,
    }  # fmt: skip


def verdict(outcome: Outcome) -> str:
    """Return one sentence: what is shown, and of which models or seeds."""
    found, ((ours, _), (theirs, _)) = outcome.difference, outcome.sides
    of = f"the rule of verdicts asks for {SEEDS} seeds"
    if max(found.seeds) == 1:
        of = "of these two models: one training each says nothing of other trainings"
    if found.clusters < LEAST_CLUSTERS:
        of = f"from {found.clusters} clusters of rows; at least {LEAST_CLUSTERS} are needed"
    return f"{ours} against {theirs}: {outcome.answer} (margin {outcome.margin:g}; {of})."


def _interval(found: Difference) -> str:
    return "cannot be told" if found.interval is None else "{:.4f} to {:.4f}".format(*found.interval)
