"""Scores, each computed once over a whole set, never as a mean over batches."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mtbert.errors import DataError
from mtbert.scores import average_precision, sets
from mtbert.tasks import METRIC_NAMES, Task, Tasks, are_the_courses, main

OVERALLS = ("overall_raw", "overall_normalised")
SIGNED = ("mcc", "pearson", "spearman")  # from -1 to 1; the others from 0 to 1


def accuracy(labels: ArrayLike, predictions: ArrayLike) -> float:
    """Return the share of predictions that equal the label, 0 to 1; DataError for none, or for unequal numbers."""
    gold, guess = _aligned(labels, predictions)
    return float(np.mean(gold == guess))


def pearson(labels: ArrayLike, predictions: ArrayLike) -> float:
    """Return Pearson's r, -1 to 1; 0 where either side is constant and r is not defined."""
    gold, guess = _aligned(labels, predictions)
    if np.ptp(gold) == 0 or np.ptp(guess) == 0:
        return 0.0
    return float(np.clip(np.vecdot(_unit(gold), _unit(guess)), -1, 1))


def spearman(labels: ArrayLike, predictions: ArrayLike) -> float:
    """Return Spearman's rho, -1 to 1: Pearson's r of the ranks, equal values at their mean rank; 0 as there."""
    gold, guess = _aligned(labels, predictions)
    from scipy import stats

    return pearson(stats.rankdata(gold), stats.rankdata(guess))


def mean_f1(labels: ArrayLike, predictions: ArrayLike, classes: Sequence[float]) -> float:
    """Return the mean of F1, the harmonic mean of precision and recall, 0 to 1, over those `classes` that rows have.

    It is scikit-learn's: a class that is neither label nor prediction of any row does not count, so that all right is
    1. Where rows have none of them, as for the F1 of one class alone, it is 0.
    """
    gold, guess = _aligned(labels, predictions)
    scores = [_class_f1(gold == number, guess == number) for number in in_rows(gold, guess, classes)]
    return float(np.mean(scores)) if scores else 0.0


def in_rows(labels: np.ndarray, predictions: np.ndarray, classes: Sequence[float]) -> list[float]:
    """Return those of the classes that are label or prediction of any row, in their order."""
    return [number for number in classes if number in labels or number in predictions]


def _class_f1(is_label: np.ndarray, is_prediction: np.ndarray) -> float:
    """Return F1 of a class that a row at least is labelled or predicted as."""
    hits = np.sum(is_label & is_prediction)
    positives = np.sum(is_label) + np.sum(is_prediction)
    return 2 * hits / positives


def f1_classes(metric: str, count: int) -> range:
    """Return which of so many classes F1 is over: class 1 alone for `f1` of two classes, else all."""
    return range(1, 2) if metric == "f1" and count == 2 else range(count)


def mcc(labels: ArrayLike, predictions: ArrayLike) -> float:
    """Return Matthews' correlation, -1 to 1, of two classes or more; 0 where a side is constant.

    Source: Gorodkin (2004), equation 8: Pearson's r of the classes' indicators, over all classes.
    """
    gold, guess = indicators(*_aligned(labels, predictions))
    norm = np.sqrt((gold * gold).sum() * (guess * guess).sum())
    return float((gold * guess).sum() / norm) if norm > 0 else 0.0


def indicators(gold: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each side whether a row is of a class, less the class's share: [rows, classes]."""
    classes = np.union1d(gold, guess)
    is_gold = (gold[:, None] == classes).astype(float)
    is_guess = (guess[:, None] == classes).astype(float)
    return is_gold - is_gold.mean(axis=0), is_guess - is_guess.mean(axis=0)


def micro_f1(labels: ArrayLike, predictions: ArrayLike, count: int) -> float:
    """Return F1 over each of `count` labels of each row, of sets of labels; 0 where no row has or predicts a label."""
    gold, guess = (sets.members_of(side, count) for side in _aligned(labels, predictions))
    return float(_class_f1(gold, guess)) if gold.any() or guess.any() else 0.0


def labels_f1(labels: ArrayLike, predictions: ArrayLike, count: int) -> float:
    """Return the mean of F1 over those of `count` labels that rows have or predict, of sets of labels; 0 without any.

    It is scikit-learn's macro-F1 of indicators with `zero_division` NaN.
    """
    gold, guess = (sets.members_of(side, count) for side in _aligned(labels, predictions))
    scores = [_class_f1(gold[:, label], guess[:, label]) for label in in_sets(gold, guess)]
    return float(np.mean(scores)) if scores else 0.0


def in_sets(gold: np.ndarray, guess: np.ndarray) -> list[int]:
    """Return the labels that any row has or predicts; both sides are bool [rows, labels]."""
    return np.flatnonzero((gold | guess).any(axis=0)).tolist()


F1S = ("f1", "macro_f1")
OF_SETS = {"micro_f1": micro_f1, "labels_f1": labels_f1}
AVERAGE_PRECISION = "average_precision"
OF_SETS_BESIDE = {"micro_f1": "micro_f1", "macro_f1": "labels_f1", AVERAGE_PRECISION: AVERAGE_PRECISION}
PLAIN = {"accuracy": accuracy, "mcc": mcc, "pearson": pearson, "spearman": spearman}


def score(metric: str, labels: ArrayLike, predictions: ArrayLike, classes: Sequence[float]) -> float:
    """Return a score by the name of its metric; `classes` are those that F1 is the mean over, or that sets may hold.

    Raises:
        DataError: there are no rows, not as many predictions as labels, or numbers that are not finite.
    """
    if metric in OF_SETS:
        return OF_SETS[metric](labels, predictions, len(classes))
    return mean_f1(labels, predictions, classes) if metric in F1S else PLAIN[metric](labels, predictions)


def task_score(task: Task, labels: ArrayLike, predictions: ArrayLike) -> float:
    """Return a task's score; errors as for `score`."""
    return score(task.metric, labels, predictions, f1_classes(task.metric, task.classes))


def of_majority(task: Task, counts: Sequence[int], labels: ArrayLike) -> float:
    """Return the score of always predicting a task's most frequent class, of equal ones the first.

    Of several labels a row it is the set of the most frequent label alone.

    Args:
        task: one of classes.
        counts: how many rows of train each class has.
        labels: of the rows that are scored.
    """
    return task_score(task, labels, np.full(np.shape(labels), majority(task, counts)))


def majority(task: Task, counts: Sequence[int]) -> float:
    """Return the most frequent class, of equal ones the first; of sets that of this label alone."""
    most = int(np.argmax(counts))
    return sets.number_of([most]) if task.several else float(most)


def beside(task: Task, labels: ArrayLike, predictions: ArrayLike, probabilities: np.ndarray | None) -> dict[str, float]:
    """Return by name, as of OF_SETS_BESIDE, the scores of sets of labels that are not the task's own metric.

    Args:
        task: one of sets of labels.
        labels: [rows].
        predictions: [rows].
        probabilities: of each label, [rows, labels]; None where a model tells none.
    """
    scores: dict[str, float] = {}
    for name in beside_names(task):
        if name != AVERAGE_PRECISION:
            scores[name] = score(OF_SETS_BESIDE[name], labels, predictions, range(task.classes))
        elif probabilities is not None:
            members = sets.members_of(np.asarray(labels), task.classes)
            scores[name] = average_precision.score(members, probabilities)
    return scores


def beside_names(task: Task) -> list[str]:
    """Return the names of the metrics beside a task's own: of sets of labels alone."""
    return [name for name, metric in OF_SETS_BESIDE.items() if metric != task.metric] if task.several else []


def bounds(metric: str) -> tuple[float, float]:
    """Return the lowest and the highest possible score."""
    return (-1.0 if metric in SIGNED else 0.0), 1.0


def in_words(task: Task) -> str:
    """Return what people call a task's metric: `accuracy`, or `F1 of spam` where it is that of one class alone."""
    name = METRIC_NAMES[task.metric]
    return f"{name} of {task.class_names[1]}" if task.metric == "f1" and task.kind == "binary" else name


def means(tasks: Tasks) -> tuple[str, ...]:
    """Return the means over tasks that are shown, first the one that orders rows.

    The course's papers mix both scales; of other tasks only the second one says something.
    """
    return OVERALLS if are_the_courses(tasks) else OVERALLS[1:]


def overall(scores: Mapping[str, float], tasks: Tasks) -> dict[str, float]:
    """Return the mean over tasks on both scales that papers mix; nothing if a task of the mean has no score.

    overall_raw is the mean of the scores as they are; overall_normalised has x of `SIGNED` as (x + 1) / 2. Of the
    course's tasks: (sst + qqp + r) / 3 and (sst + qqp + (r + 1) / 2) / 3.
    """
    names = main(tasks)
    if not names or not {*names} <= scores.keys():
        return {}
    means: dict[str, float] = {}
    for mean in OVERALLS:
        counted = [counting_as(mean, tasks[name], scores[name]) for name in names]
        means[mean] = sum(counted) / len(counted)
    return means


def is_halved(metric: str, task: Task) -> bool:
    """Return whether a task's score x counts as (x + 1) / 2: in overall_normalised that of `SIGNED`."""
    return metric == "overall_normalised" and task.metric in SIGNED


def counting_as(metric: str, task: Task, score: float) -> float:
    """Return what a task's score counts as in a mean."""
    return 0.5 * score + 0.5 if is_halved(metric, task) else score


def _unit(values: np.ndarray) -> np.ndarray:
    """Return the values minus their mean, at length 1."""
    centred = values - values.mean()
    largest = np.abs(centred).max()  # the square of a large number would be infinite
    return centred / (largest * np.linalg.norm(centred / largest, axis=0))  # the digits of scipy.stats.pearsonr


def _aligned(labels: ArrayLike, predictions: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and predictions as arrays; DataError if they cannot be scored."""
    gold, guess = np.asarray(labels, dtype=float), np.asarray(predictions, dtype=float)
    if gold.shape != guess.shape or gold.size == 0:
        raise DataError(f"a score needs as many predictions as labels, at least one: {guess.size} and {gold.size}")
    if not (np.isfinite(gold).all() and np.isfinite(guess).all()):
        raise DataError("a score needs finite labels and predictions, but some are NaN or infinite")
    return gold, guess
