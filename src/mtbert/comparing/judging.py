"""What can be told of two sides, from arrays: `mtbert.statistics` and its rule of verdicts, for two files."""

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

SEED = 0  # of the resamples, so that the same files give the same answer
DRAWS = {"f1": bootstrap.f1s, "pearson": bootstrap.pearsons, "spearman": bootstrap.spearmans}
Answer = Literal[
    "better", "better by less than what matters", "worse", "worse by less than what matters",
    "apart by less than what matters", "not better by what matters", "not worse by what matters", "cannot be told",
]  # fmt: skip
SIDED: dict[tuple[bool, bool], Answer] = {  # by whether ours is higher, and by less than what matters
    (True, False): "better",
    (True, True): "better by less than what matters",
    (False, False): "worse",
    (False, True): "worse by less than what matters",
}


@dataclass(frozen=True)
class Side:
    """A side's name, its score by seed, and the mean of these with its 95 % interval."""

    name: str
    by_seed: list[float]
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Outcome:
    """What a comparison tells.

    Attributes:
        metric: by which the sides are scored.
        matters: the smallest difference that matters.
        rows, clusters: how many; a cluster is what is resampled as one.
        apart: by what rows are put into clusters, in words.
        seeds: their names.
        found: the difference, ours less theirs, with its interval and p.
        answer: of ours, against theirs.
        notes: what was left out, in sentences.
    """

    ours: Side
    theirs: Side
    metric: str
    matters: float
    rows: int
    clusters: int
    apart: str
    seeds: list[str]
    found: Paired
    answer: Answer
    notes: list[str]


def compare(ours: Rows, theirs: Rows, metric: str, matters: float) -> Outcome:
    """Ours held against theirs; DataError where the rows of the two do not fit together, or the metric is unknown."""
    if metric not in metrics.SCORES and not (ours.of_scores and theirs.of_scores):
        raise DataError(str(UnknownNameError("metric", metric, metrics.SCORES)))
    if metric != "accuracy" and ours.of_scores != theirs.of_scores:
        row_scores, other = (ours, theirs) if ours.of_scores else (theirs, ours)
        raise DataError(
            f"{row_scores.name} tells a score of each row and {other.name} predictions, which are comparable by "
            f"accuracy alone, not by {metric}"
        )
    pairs = pair(ours, theirs, metric)
    drawn = bootstrap.resamples(pairs.clusters, seeding.stream(SEED, "bootstrap", metric))
    (mine, my_draws), (other, other_draws) = (
        _scores(pairs.labels, said, side.of_scores, metric, drawn)
        for side, said in ((ours, pairs.ours), (theirs, pairs.theirs))
    )
    names = [seed or "none" for seed in pairs.seeds]
    differences, draws = mine - other, my_draws - other_draws
    found = _paired(differences, draws, names)
    sides = [
        Side(side.name, scores.tolist(), *_mean(scores, drawn_scores, names))
        for side, scores, drawn_scores in ((ours, mine, my_draws), (theirs, other, other_draws))
    ]
    answer = _of_models(found, matters) if len(names) == 1 else _of_seeds(differences, draws, matters)
    return Outcome(
        sides[0], sides[1], metric, matters, len(pairs.labels), len(np.unique(pairs.clusters)), pairs.apart,
        pairs.seeds, found, answer, pairs.notes,
    )  # fmt: skip


def score(rows: Rows, metric: str) -> Side:
    """The score of one side alone, with its interval; DataError where its rows are not as they should be."""
    pairs = pair(rows, rows, metric)
    drawn = bootstrap.resamples(pairs.clusters, seeding.stream(SEED, "bootstrap", metric))
    scores, draws = _scores(pairs.labels, pairs.ours, rows.of_scores, metric, drawn)
    return Side(rows.name, scores.tolist(), *_mean(scores, draws, pairs.seeds))


def _scores(
    labels: np.ndarray, said: np.ndarray, of_scores: bool, metric: str, drawn: Resamples
) -> tuple[np.ndarray, np.ndarray]:
    """A side's scores by seed, and the same on resampled rows, draws x seeds."""
    if of_scores:
        return said.mean(axis=0), bootstrap.accuracies(said, drawn)
    scores = np.array([metrics.SCORES[metric](labels, column) for column in said.T])
    if metric == "accuracy":
        return scores, bootstrap.accuracies(said == labels[:, None], drawn)
    return scores, DRAWS[metric](labels, said, drawn)


def _paired(differences: np.ndarray, draws: np.ndarray, names: list[str]) -> Paired:
    return paired(differences, draws, names, seeding.stream(SEED, "hierarchical bootstrap"))


def _mean(scores: np.ndarray, draws: np.ndarray, names: list[str]) -> tuple[float, float, float]:
    found = _paired(scores, draws, names)
    return found.difference, found.low, found.high


def _of_seeds(differences: np.ndarray, draws: np.ndarray, matters: float) -> Answer:
    """By the rule of verdicts: two claims, that ours is higher and that theirs is, at the planned looks.

    It tells nothing of fewer seeds than the first look's.
    """
    looks = [count for count in LOOKS if count <= len(differences)]
    ours, theirs = _claim(differences, draws, looks, matters), _claim(-differences, -draws, looks, matters)
    both = PartP(*(np.array([getattr(ours, of), getattr(theirs, of)]).T for of in ("holds", "fails", "little")))
    made = decide(both, [[0], [1]], list(LOOKS.values()))
    holds, fails, little = made.holds, made.fails, made.little
    if holds[0] != holds[1]:
        return SIDED[bool(holds[0]), bool(little[int(holds[1])])]
    if holds.any():  # at two looks: that tells nothing
        return "cannot be told"
    if fails.all():
        return "apart by less than what matters"
    return "not better by what matters" if fails[0] else "not worse by what matters" if fails[1] else "cannot be told"


def _claim(differences: np.ndarray, draws: np.ndarray, looks: list[int], matters: float) -> PartP:
    """The p of the claim that differences are above 0, at each look; 1 at those that are not reached."""
    each = []
    for count in looks:
        several = _paired(differences[:count], draws[:, :count], [""] * count).several
        assert several is not None
        each.append(one_sided(several.at_most, several.at_least, matters, None))
    left = [1.0] * (len(LOOKS) - len(looks))
    return PartP(*(np.array([*(getattr(p, of) for p in each), *left]) for of in ("holds", "fails", "little")))


def _of_models(found: Paired, matters: float) -> Answer:
    """Of one training each: whether the interval leaves out 0, or what matters. It speaks of these two models."""
    little = -matters < found.low and found.high < matters
    if found.p <= LEVEL:
        return SIDED[found.difference > 0, little]
    return "apart by less than what matters" if little else "cannot be told"
