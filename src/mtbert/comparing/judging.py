"""Judge two sides from arrays, by `mtbert.statistics` and its rule of verdicts."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mtbert import metrics, seeding
from mtbert.comparing.pairing import pair
from mtbert.comparing.rows import Rows
from mtbert.errors import DataError, UnknownNameError
from mtbert.statistics import bootstrap
from mtbert.statistics.bootstrap import Resamples
from mtbert.statistics.intervals import LEVEL
from mtbert.statistics.paired import Paired, paired
from mtbert.statistics.verdicts import LOOKS, PartP, decide, one_sided

SEED = 0  # seeds the resamples, so that the same files give the same answer
DRAWS = {"f1": bootstrap.f1s, "pearson": bootstrap.pearsons, "spearman": bootstrap.spearmans}
Answer = Literal[
    "better", "better by less than what matters", "worse", "worse by less than what matters",
    "apart by less than what matters", "not better by what matters", "not worse by what matters", "cannot be told",
]  # fmt: skip
SIDED: dict[tuple[bool, bool], Answer] = {  # (ours is higher, the difference is less than what matters)
    (True, False): "better",
    (True, True): "better by less than what matters",
    (False, False): "worse",
    (False, True): "worse by less than what matters",
}


@dataclass(frozen=True)
class Side:
    """A side's name, its score for each seed, and their mean with its 95 % interval."""

    name: str
    by_seed: list[float]
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Outcome:
    """The result of a comparison.

    Attributes:
        metric: what the sides are scored by.
        matters: the smallest difference that matters.
        rows, clusters: their numbers; the rows of a cluster are resampled together.
        apart: how rows were put into clusters, in words.
        seeds: names of the seeds.
        difference: ours less theirs, with its interval and p.
        answer: of ours, against theirs.
        notes: sentences on what was left out.
    """

    ours: Side
    theirs: Side
    metric: str
    matters: float
    rows: int
    clusters: int
    apart: str
    seeds: list[str]
    difference: Paired
    answer: Answer
    notes: list[str]


def compare(ours: Rows, theirs: Rows, metric: str, matters: float) -> Outcome:
    """Compare ours with theirs; DataError where their rows do not fit together, or the metric is unknown."""
    if metric not in metrics.SCORES and not (ours.of_scores and theirs.of_scores):
        raise DataError(str(UnknownNameError("metric", metric, metrics.SCORES)))
    if metric != "accuracy" and ours.of_scores != theirs.of_scores:
        row_scores, other = (ours, theirs) if ours.of_scores else (theirs, ours)
        raise DataError(
            f"{row_scores.name} holds a score of each row and {other.name} predictions; allowed: --metric accuracy, "
            f"not {metric}"
        )
    pairs = pair(ours, theirs, metric)
    drawn = bootstrap.resamples(pairs.clusters, seeding.stream(SEED, "bootstrap", metric))
    our_scores, our_draws = _scores(pairs.labels, pairs.ours, ours.of_scores, metric, drawn)
    their_scores, their_draws = _scores(pairs.labels, pairs.theirs, theirs.of_scores, metric, drawn)
    names = [seed or "none" for seed in pairs.seeds]
    differences, draws = our_scores - their_scores, our_draws - their_draws
    difference = _paired(differences, draws, names)
    sides = [
        Side(side.name, scores.tolist(), *_mean(scores, drawn_scores, names))
        for side, scores, drawn_scores in ((ours, our_scores, our_draws), (theirs, their_scores, their_draws))
    ]
    answer = _of_models(difference, matters) if len(names) == 1 else _of_seeds(differences, draws, matters)
    return Outcome(
        sides[0], sides[1], metric, matters, len(pairs.labels), len(np.unique(pairs.clusters)), pairs.apart,
        pairs.seeds, difference, answer, pairs.notes,
    )  # fmt: skip


def score(rows: Rows, metric: str) -> Side:
    """Score one side alone, with its interval; DataError where its rows are faulty."""
    pairs = pair(rows, rows, metric)
    drawn = bootstrap.resamples(pairs.clusters, seeding.stream(SEED, "bootstrap", metric))
    scores, draws = _scores(pairs.labels, pairs.ours, rows.of_scores, metric, drawn)
    return Side(rows.name, scores.tolist(), *_mean(scores, draws, pairs.seeds))


def _scores(
    labels: np.ndarray, predictions: np.ndarray, of_scores: bool, metric: str, drawn: Resamples
) -> tuple[np.ndarray, np.ndarray]:
    """Return a side's scores for each seed, and the same on resampled rows, [draws, seeds]."""
    if of_scores:
        return predictions.mean(axis=0), bootstrap.accuracies(predictions, drawn)
    scores = np.array([metrics.SCORES[metric](labels, column) for column in predictions.T])
    if metric == "accuracy":
        return scores, bootstrap.accuracies(predictions == labels[:, None], drawn)
    return scores, DRAWS[metric](labels, predictions, drawn)


def _paired(differences: np.ndarray, draws: np.ndarray, names: list[str]) -> Paired:
    return paired(differences, draws, names, seeding.stream(SEED, "hierarchical bootstrap"))


def _mean(scores: np.ndarray, draws: np.ndarray, names: list[str]) -> tuple[float, float, float]:
    mean = _paired(scores, draws, names)
    return mean.difference, mean.low, mean.high


def _of_seeds(differences: np.ndarray, draws: np.ndarray, matters: float) -> Answer:
    """Answer by the rule of verdicts: two claims, that ours is higher and that theirs is, at the planned looks.

    The answer is open for fewer seeds than the first look has.
    """
    looks = [count for count in LOOKS if count <= len(differences)]
    ours, theirs = _claim(differences, draws, looks, matters), _claim(-differences, -draws, looks, matters)
    both = PartP(*(np.array([getattr(ours, of), getattr(theirs, of)]).T for of in ("holds", "fails", "little")))
    made = decide(both, [[0], [1]], list(LOOKS.values()))
    holds, fails, little = made.holds, made.fails, made.little
    if (holds & fails).any() or holds.all():  # one look proves what another refutes
        return "cannot be told"
    if holds.any():
        return SIDED[bool(holds[0]), bool(little[int(holds[1])])]
    if fails.all():
        return "apart by less than what matters"
    return "not better by what matters" if fails[0] else "not worse by what matters" if fails[1] else "cannot be told"


def _claim(differences: np.ndarray, draws: np.ndarray, looks: list[int], matters: float) -> PartP:
    """Return the p of the claim that differences are above 0, at each look; 1 at looks that are not reached."""
    each = []
    for count in looks:
        several = _paired(differences[:count], draws[:, :count], [""] * count).several
        assert several is not None
        each.append(one_sided(several.at_most, several.at_least, matters, None))
    left = [1.0] * (len(LOOKS) - len(looks))
    return PartP(*(np.array([*(getattr(p, of) for p in each), *left]) for of in ("holds", "fails", "little")))


def _of_models(difference: Paired, matters: float) -> Answer:
    """Answer for one training each, from the interval and p; the answer holds for these two models alone."""
    little = -matters < difference.low and difference.high < matters
    if difference.p <= LEVEL:
        return SIDED[difference.difference > 0, little]
    return "apart by less than what matters" if little else "cannot be told"
