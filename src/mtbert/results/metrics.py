"""Scores, each computed once over a whole set, never as a mean over batches."""

from collections.abc import Mapping, Sequence

import numpy as np

from mtbert.errors import DataError
from mtbert.tasks import Tasks, are_the_courses, main

Values = Sequence[float] | np.ndarray
OVERALLS = ("overall_raw", "overall_normalised")
SIGNED = ("mcc", "pearson", "spearman")  # from -1 to 1; the others from 0 to 1


def accuracy(labels: Values, predictions: Values) -> float:
    """Return the share of predictions that equal the label, 0 to 1; DataError for none, or for unequal numbers."""
    gold, guess = _aligned(labels, predictions)
    return float(np.mean(gold == guess))


def pearson(labels: Values, predictions: Values) -> float:
    """Return Pearson's r, -1 to 1; 0 where either side is constant and r is not defined."""
    gold, guess = _aligned(labels, predictions)
    if np.ptp(gold) == 0 or np.ptp(guess) == 0:
        return 0.0
    return float(np.clip(np.vecdot(_unit(gold), _unit(guess)), -1, 1))


def spearman(labels: Values, predictions: Values) -> float:
    """Return Spearman's rho, -1 to 1: Pearson's r of the ranks, equal values at their mean rank; 0 as there."""
    gold, guess = _aligned(labels, predictions)
    from scipy import stats

    return pearson(stats.rankdata(gold), stats.rankdata(guess))


def f1(labels: Values, predictions: Values) -> float:
    """Return F1, the harmonic mean of precision and recall, 0 to 1, as the mean over `f1_classes`."""
    gold, guess = _aligned(labels, predictions)
    return _mean_f1(gold, guess, f1_classes(gold, guess))


def macro_f1(labels: Values, predictions: Values) -> float:
    """Return the mean of F1 over all classes on either side, 0 to 1."""
    gold, guess = _aligned(labels, predictions)
    return _mean_f1(gold, guess, sorted({*gold.tolist(), *guess.tolist()}))


def _mean_f1(gold: np.ndarray, guess: np.ndarray, classes: Sequence[float]) -> float:
    right = [2 * np.sum((gold == one) & (guess == one)) for one in classes]
    either = [np.sum(gold == one) + np.sum(guess == one) for one in classes]
    return float(np.mean([both / max(all_, 1) for both, all_ in zip(right, either, strict=True)]))


def f1_classes(labels: np.ndarray, predictions: np.ndarray) -> list[float]:
    """Return the classes that F1 is the mean over: 1 alone where there are only 0 and 1, else all on either side."""
    classes = sorted({*labels.tolist(), *predictions.tolist()})
    return [1.0] if set(classes) <= {0.0, 1.0} else classes


def mcc(labels: Values, predictions: Values) -> float:
    """Return Matthews' correlation, -1 to 1, of two classes or more; 0 where a side is constant.

    Source: Gorodkin (2004), equation 8: Pearson's r of the classes' indicators, over all classes.
    """
    gold, guess = _aligned(labels, predictions)
    moves = indicators(gold, guess)
    both, gold_only, guess_only = (float((one * other).sum()) for one, other in (moves, moves[:1] * 2, moves[1:] * 2))
    return both / np.sqrt(gold_only * guess_only) if gold_only * guess_only > 0 else 0.0


def indicators(gold: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each side whether a row is of a class, less the class's share: [rows, classes]."""
    classes = np.array(sorted({*gold.tolist(), *guess.tolist()}))
    one, other = ((side[:, None] == classes).astype(float) for side in (gold, guess))
    return one - one.mean(axis=0), other - other.mean(axis=0)


SCORES = {
    "accuracy": accuracy, "f1": f1, "macro_f1": macro_f1, "mcc": mcc, "pearson": pearson, "spearman": spearman,
}  # fmt: skip


def means(tasks: Tasks) -> tuple[str, ...]:
    """Return the means over tasks that are shown, first the one that orders rows.

    The course's reports mix both scales; of other tasks only the second one says something.
    """
    return OVERALLS if are_the_courses(tasks) else OVERALLS[1:]


def overall(scores: Mapping[str, float], tasks: Tasks) -> dict[str, float]:
    """Return the mean over tasks on both scales that papers mix; nothing where a task that is part of it has no score.

    overall_raw is the mean of the scores as they are; overall_normalised has x of `SIGNED` as (x + 1) / 2. Of the
    course's tasks: (sst + qqp + r) / 3 and (sst + qqp + (r + 1) / 2) / 3.
    """
    names = main(tasks)
    if not names or any(task not in scores for task in names):
        return {}
    raw = [scores[task] for task in names]
    normalised = [(scores[task] + 1) / 2 if tasks[task].metric in SIGNED else scores[task] for task in names]
    return {"overall_raw": sum(raw) / len(raw), "overall_normalised": sum(normalised) / len(normalised)}


def _unit(values: np.ndarray) -> np.ndarray:
    """Return the values minus their mean, at length 1."""
    centred = values - values.mean()
    largest = np.abs(centred).max()  # the square of a large number would be infinite
    return centred / (largest * np.linalg.norm(centred / largest, axis=0))  # the digits of scipy.stats.pearsonr


def _aligned(labels: Values, predictions: Values) -> tuple[np.ndarray, np.ndarray]:
    gold, guess = np.asarray(labels, dtype=float), np.asarray(predictions, dtype=float)
    if gold.shape != guess.shape or gold.size == 0:
        raise DataError(f"a score needs as many predictions as labels, at least one: {guess.size} and {gold.size}")
    if not (np.isfinite(gold).all() and np.isfinite(guess).all()):
        raise DataError("a score needs finite labels and predictions, but some are NaN or infinite")
    return gold, guess
