"""Scores, each computed once over a whole set, never as a mean over batches."""

from collections.abc import Mapping, Sequence

import numpy as np

from mtbert.errors import DataError

Values = Sequence[float] | np.ndarray
MAIN_TASKS = ("sst", "qqp", "sts")  # the three whose scores make the overall
OVERALLS = ("overall_raw", "overall_normalised")


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
    from scipy import stats  # takes half a second, and every training scores without it

    return pearson(stats.rankdata(gold), stats.rankdata(guess))


def f1(labels: Values, predictions: Values) -> float:
    """Return F1, the harmonic mean of precision and recall, 0 to 1, as the mean over `f1_classes`."""
    gold, guess = _aligned(labels, predictions)
    classes = f1_classes(gold, guess)
    right = [2 * np.sum((gold == one) & (guess == one)) for one in classes]
    either = [np.sum(gold == one) + np.sum(guess == one) for one in classes]
    return float(np.mean([both / max(all_, 1) for both, all_ in zip(right, either, strict=True)]))


def f1_classes(labels: np.ndarray, predictions: np.ndarray) -> list[float]:
    """Return the classes that F1 is the mean over: 1 alone where there are only 0 and 1, else all on either side."""
    classes = sorted({*labels.tolist(), *predictions.tolist()})
    return [1.0] if set(classes) <= {0.0, 1.0} else classes


SCORES = {"accuracy": accuracy, "f1": f1, "pearson": pearson, "spearman": spearman}


def overall(scores: Mapping[str, float]) -> dict[str, float]:
    """Return both scales of "overall" that the papers mix; nothing where one of sst, qqp and sts is missing.

    overall_raw = (sst + qqp + r) / 3; overall_normalised = (sst + qqp + (r + 1) / 2) / 3.
    """
    if any(task not in scores for task in MAIN_TASKS):
        return {}
    sst, qqp, r = (scores[task] for task in MAIN_TASKS)
    return {"overall_raw": (sst + qqp + r) / 3, "overall_normalised": (sst + qqp + (r + 1) / 2) / 3}


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
