"""Score resampled examples: draw whole clusters with replacement, the same ones for every model.

Errors on rows that share a sentence are correlated: drawing single rows would understate the noise (cluster bootstrap;
Davison and Hinkley 1997, section 3.8). Every model is scored on the same resamples, so a difference of two columns of
the result is the paired bootstrap of the difference, and one matrix product serves all models, each task apart.
"""

from dataclasses import dataclass

import numpy as np

from mtbert import metrics

DRAWS = 10_000
RANKED = 2**22  # values that are ranked at a time
UNITS = 1_000  # the relative error of an interval's width is 1 / sqrt(2 units), 2 % here
Scored = tuple[np.ndarray, np.ndarray]  # scores of a side, [seeds], and the same on resampled rows, [draws, seeds]


@dataclass(frozen=True)
class Resamples:
    """How often each unit is drawn.

    Attributes:
        weights: counts, [draws, units].
        units: the unit of each row, [rows].
    """

    weights: np.ndarray
    units: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum the rows' values [rows, columns] in every draw: [draws, columns]."""
        order = np.argsort(self.units, kind="stable")
        starts = np.searchsorted(self.units[order], np.arange(self.weights.shape[1]))
        totals = np.add.reduceat(values[order], starts, axis=0, dtype=float)
        return self.weights @ totals.astype(self.weights.dtype)


def resamples(
    clusters: np.ndarray, generator: np.random.Generator, draws: int = DRAWS, units: int = UNITS
) -> Resamples:
    """Draw clusters with replacement, as many as there are.

    More clusters than `units` are first joined at random to that many groups, which are drawn in their place. Rows of
    different groups stay independent, so the spread of a score is still estimated without bias (Wolter 2007,
    chapter 2, random groups), in the time of a small set.

    Args:
        clusters: a number for each row; rows of the same number are drawn together.
        generator: the same one gives the same resamples.
        draws: number of resamples.
        units: largest number of units.
    """
    distinct, of_row = np.unique(clusters, return_inverse=True)
    count = min(len(distinct), units)
    of_cluster = generator.permutation(len(distinct)) % count
    drawn = generator.integers(count, size=(draws, count)) + count * np.arange(draws)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=draws * count).reshape(draws, count)
    return Resamples(weights.astype(np.float32), of_cluster[of_row])


def scored(metric: str, labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> Scored:
    """Score predictions [rows, seeds] by one of `metrics.SCORES`, as they are and in every draw."""
    scores = np.array([metrics.SCORES[metric](labels, column) for column in predictions.T])
    return scores, DRAWN[metric](labels, predictions, drawn)


def _accuracies(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    return drawn.sums(predictions == labels[:, None]) / drawn.sums(np.ones((len(labels), 1)))


def _pearsons(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    """Return Pearson's r in every draw, 0 where a side is constant."""
    x, y = (_standardised(np.asarray(side, dtype=float).reshape(len(labels), -1)) for side in (labels, predictions))
    count = drawn.sums(np.ones((len(x), 1)))
    mean_x, mean_y, xy = drawn.sums(x) / count, drawn.sums(y) / count, drawn.sums(x * y) / count
    spread_x, spread_y = drawn.sums(x * x) / count - mean_x**2, drawn.sums(y * y) / count - mean_y**2
    product = np.maximum(spread_x, 0) * np.maximum(spread_y, 0)
    constant = product < 1e-9  # of columns whose variance is 1, in single precision
    return np.where(constant, 0, (xy - mean_x * mean_y) / np.sqrt(np.where(constant, 1, product)))


def _f1s(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    """Return `metrics.f1` in every draw, over the classes of all rows."""
    return np.column_stack([_f1_of_one(labels, column, drawn) for column in predictions.T])


def _f1_of_one(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    each = []
    for one in metrics.f1_classes(labels, predictions):
        is_one, predicted_one = labels == one, predictions == one
        hits, of_both = drawn.sums(np.column_stack([is_one & predicted_one, is_one.astype(int) + predicted_one])).T
        each.append(np.where(of_both > 0, 2 * hits / np.maximum(of_both, 1), 0))
    return np.mean(each, axis=0)


def _spearmans(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    """Return Spearman's rho in every draw, 0 where a side is constant; each draw ranks its rows anew."""
    found = []
    for weights in np.array_split(drawn.weights, max(1, len(drawn.weights) * len(labels) // RANKED)):
        counts = weights[:, drawn.units].astype(float)
        x = _centred_ranks(labels, counts)
        found.append([_weighted_r(x, _centred_ranks(column, counts), counts) for column in predictions.T])
    return np.concatenate(found, axis=1).T


def _centred_ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return each row's rank in each draw less the mean rank, [draws, rows]; equal values share their mean rank."""
    order = np.argsort(values, kind="stable")
    _, starts, place = np.unique(values[order], return_index=True, return_inverse=True)
    of_value = np.add.reduceat(counts[:, order], starts, axis=1)
    ranks = (np.cumsum(of_value, axis=1) - of_value / 2 - counts.sum(axis=1, keepdims=True) / 2)[:, place]
    by_row = np.empty_like(ranks)
    by_row[:, order] = ranks
    return by_row


def _weighted_r(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    xx, yy, xy = ((counts * one * other).sum(axis=1) for one, other in ((x, x), (y, y), (x, y)))
    return np.where(xx * yy > 0, xy / np.sqrt(np.where(xx * yy > 0, xx * yy, 1)), 0)


def _standardised(columns: np.ndarray) -> np.ndarray:
    """Scale to mean 0 and variance 1, which leaves r as it is and keeps sums in single precision exact enough."""
    spread = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(spread == 0, 1, spread)


DRAWN = {"accuracy": _accuracies, "f1": _f1s, "pearson": _pearsons, "spearman": _spearmans}
