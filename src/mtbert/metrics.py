"""Scores, each computed once over a whole set, never as a mean over batches."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from mtbert.errors import DataError

Values = Sequence[float] | np.ndarray
MAIN_TASKS = ("sst", "qqp", "sts")  # the three whose scores make the overall


def accuracy(labels: Values, predictions: Values) -> float:
    """Share of predictions equal to the label, 0 to 1; DataError on empty or unequal input."""
    gold, guess = _aligned(labels, predictions)
    return float(np.mean(gold == guess))


def pearson(labels: Values, predictions: Values) -> float:
    """Pearson's r, -1 to 1; 0 where either side is constant, for which r is not defined."""
    gold, guess = _aligned(labels, predictions)
    if np.ptp(gold) == 0 or np.ptp(guess) == 0:
        return 0.0
    return float(stats.pearsonr(gold, guess).statistic)  # type: ignore[attr-defined]


SCORES = {"accuracy": accuracy, "pearson": pearson}


def overall(scores: Mapping[str, float]) -> dict[str, float]:
    """Both scales of "overall" that the papers mix, or nothing where one of sst, qqp and sts is missing.

    overall_raw = (sst + qqp + r) / 3; overall_normalised = (sst + qqp + (r + 1) / 2) / 3.
    """
    if any(task not in scores for task in MAIN_TASKS):
        return {}
    sst, qqp, r = (scores[task] for task in MAIN_TASKS)
    return {"overall_raw": (sst + qqp + r) / 3, "overall_normalised": (sst + qqp + (r + 1) / 2) / 3}


def _aligned(labels: Values, predictions: Values) -> tuple[np.ndarray, np.ndarray]:
    gold, guess = np.asarray(labels, dtype=float), np.asarray(predictions, dtype=float)
    if gold.shape != guess.shape or gold.size == 0:
        raise DataError(f"a score needs as many predictions as labels, and one at least: {guess.size}, {gold.size}")
    if not (np.isfinite(gold).all() and np.isfinite(guess).all()):
        raise DataError("a score needs finite labels and predictions, but some are NaN or infinite")
    return gold, guess
