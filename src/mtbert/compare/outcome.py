"""Compare two sides by `mtbert.stats`, and word the result."""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from mtbert import metrics
from mtbert.claims.rule import SEEDS
from mtbert.compare.pairing import Pairs, pair
from mtbert.compare.reading import KNOWN, Side, read
from mtbert.errors import DataError, MtbertError, UnknownNameError
from mtbert.stats import Difference, difference, resampling
from mtbert.stats.differences import LEAST_CLUSTERS, LEVEL, Interval, of_models, of_side
from mtbert.stats.exact import FEW, of_few
from mtbert.tasks import TASKS

MARGIN = 0.01  # without a task
DRAWS = {"f1": resampling.f1s, "pearson": resampling.pearsons, "spearman": resampling.spearmans}
Scored = tuple[np.ndarray, np.ndarray]  # of each seed, and [draws, seeds]


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
class SideScore:
    """A side's name, its score for each seed, and their mean with its 95 % interval, None where it is not known."""

    name: str
    by_seed: list[float]
    score: float
    interval: Interval | None


@dataclass(frozen=True)
class Outcome:
    """The result of a comparison.

    Attributes:
        ours, theirs: the sides.
        metric: what they are scored by.
        margin: the smallest difference that matters.
        difference: ours - theirs.
        answer: of ours, against theirs.
        notes: sentences on clusters and on what was left out.
    """

    ours: SideScore
    theirs: SideScore
    metric: str
    margin: float
    difference: Difference
    answer: Answer
    notes: list[str]


def compare_files(
    ours: str, theirs: str, task: str | None = None, metric: str | None = None, margin: float | None = None,
    columns: str = "", filtered: str | None = None, build: Path = Path("build"),
) -> Outcome:  # fmt: skip
    """Compare as `mtbert compare` does, which describes each argument; DataError where the two do not fit together."""
    if task is not None and task not in TASKS:
        raise MtbertError(str(UnknownNameError("task", task, TASKS)))
    if metric is None and task is None:
        raise MtbertError(f"needs --task, one of {', '.join(TASKS)}, or --metric, one of {', '.join(metrics.SCORES)}")
    metric = metric or TASKS[str(task)].metric
    our_side, their_side = (read(source, metric, _columns(columns), filtered, task, build) for source in (ours, theirs))
    return compare(our_side, their_side, metric, _margin(task) if margin is None else margin)


def compare(ours: Side, theirs: Side, metric: str, margin: float) -> Outcome:
    """Compare ours with theirs; DataError where their rows do not fit together, or the metric is unknown."""
    if not (math.isfinite(margin) and margin >= 0):
        raise DataError(f"margin is {margin}; allowed: a number of 0 or more")
    if metric not in metrics.SCORES and not (ours.of_scores and theirs.of_scores):
        raise DataError(str(UnknownNameError("metric", metric, metrics.SCORES)))
    if metric != "accuracy" and ours.of_scores != theirs.of_scores:
        what = f"one of {ours.name} and {theirs.name} holds a score of each row and the other predictions"
        raise DataError(f"{what}; allowed: --metric accuracy, not {metric}")
    pairs = pair(ours, theirs, metric)
    our_side, their_side = (_scored(pairs, said, metric) for said in (pairs.ours, pairs.theirs))
    found = _difference(pairs, our_side, their_side)
    return Outcome(
        _side(ours.name, our_side, pairs), _side(theirs.name, their_side, pairs), metric, margin, found,
        _answer(found, margin), pairs.notes,
    )  # fmt: skip


def score(file: Path, metric: str) -> SideScore:
    """Score a file of predictions, with its interval over rows; DataError where it is faulty."""
    side = read(str(file), metric)
    pairs = pair(side, side, metric)
    return _side(side.name, _scored(pairs, pairs.ours, metric), pairs)


def _scored(pairs: Pairs, values: np.ndarray, metric: str) -> Scored:
    """Return a side's scores for each seed, and the same on resampled rows."""
    if pairs.of_rows:
        return values.mean(axis=0), resampling.accuracies(values, pairs.drawn)
    scores = np.array([metrics.SCORES[metric](pairs.labels, column) for column in values.T])
    return scores, DRAWS[metric](pairs.labels, values, pairs.drawn)


def _difference(pairs: Pairs, our_side: Scored, their_side: Scored) -> Difference:
    (ours, our_draws), (theirs, their_draws) = our_side, their_side
    rows, clusters = len(pairs.labels), len(np.unique(pairs.clusters))
    by_row = pairs.ours.mean(axis=1) - pairs.theirs.mean(axis=1)
    differing = len(np.unique(pairs.clusters[by_row != 0]))
    if len(ours) > 1 or len(theirs) > 1:
        return difference(ours, theirs, our_draws, their_draws, rows, clusters, differing)
    found = of_models(float(ours[0] - theirs[0]), (our_draws - their_draws)[:, 0], rows, clusters, differing)
    if clusters >= LEAST_CLUSTERS and pairs.of_rows and (differing <= FEW or found.error is None):
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


def _side(name: str, scored: Scored, pairs: Pairs) -> SideScore:
    scores, draws = scored
    mean = of_side(scores, draws, len(pairs.labels), len(np.unique(pairs.clusters)))
    return SideScore(name, scores.tolist(), mean.mean, mean.interval)


def _margin(task: str | None) -> float:
    from mtbert.claims import load  # takes a while, and most comparisons name a margin or no task

    return load().margins.get(task, MARGIN) if task else MARGIN


def _columns(columns: str) -> dict[str, str]:
    names = dict(re.findall(r"(\w+)=([^=,]+)", columns))
    if ",".join(f"{known}={own}" for known, own in names.items()) != columns or not names.keys() <= {*KNOWN}:
        allowed = f"pairs such as label=gold,prediction=guess, of {', '.join(KNOWN)}"
        raise MtbertError(f"--columns {columns}; allowed: {allowed}")
    return names


def as_text(outcome: Outcome) -> str:
    """Return a few lines for a terminal."""
    found, sides = outcome.difference, (outcome.ours, outcome.theirs)
    width = max(len("difference"), *(len(side.name) for side in sides))
    seeds = "" if max(found.seeds) == 1 else f", {found.seeds[0]} and {found.seeds[1]} seeds"
    told = "cannot be told" if found.p is None else f"{found.p:.4g}"
    lines = [
        f"{outcome.metric} on {found.rows} rows in {found.clusters} clusters{seeds}",
        "",
        f"{'':<{width}}  {'score':>8}  95 % interval",
        *(f"{side.name:<{width}}  {side.score:>8.4f}  {_interval(side.interval)}" for side in sides),
        f"{'difference':<{width}}  {found.mean:>+8.4f}  {_interval(found.interval, '+')}",
        "",
        f"p of no difference: {told}",
    ]
    if found.detectable is not None:
        lines.append(f"Smallest difference that such files show in four of five cases: {found.detectable:.4f}")
    return "\n".join([*lines, *outcome.notes, "", verdict(outcome)])


def as_values(outcome: Outcome) -> dict[str, Any]:
    """Return the same as values for JSON; scores and p are not rounded."""
    found = outcome.difference
    low, high = found.interval or (None, None)
    sides = {name: vars(side) for name, side in (("ours", outcome.ours), ("theirs", outcome.theirs))}
    return sides | {
        "metric": outcome.metric, "rows": found.rows, "clusters": found.clusters, "seeds": found.seeds,
        "difference": found.mean, "low": low, "high": high, "p": found.p, "detectable": found.detectable,
        "margin": outcome.margin, "answer": outcome.answer, "verdict": verdict(outcome), "notes": outcome.notes,
    }  # fmt: skip


def verdict(outcome: Outcome) -> str:
    """Return one sentence: what is shown, and of which models or seeds."""
    found = outcome.difference
    of = f"the rule of verdicts asks for {SEEDS} seeds"
    if max(found.seeds) == 1:
        of = "of these two models: one training each says nothing of other trainings"
    if found.clusters < LEAST_CLUSTERS:
        of = f"from {found.clusters} clusters of rows; at least {LEAST_CLUSTERS} are needed"
    return f"{outcome.ours.name} against {outcome.theirs.name}: {outcome.answer} (margin {outcome.margin:g}; {of})."


def _interval(interval: Interval | None, sign: str = "") -> str:
    return "cannot be told" if interval is None else f"{interval[0]:{sign}.4f} to {interval[1]:{sign}.4f}"
