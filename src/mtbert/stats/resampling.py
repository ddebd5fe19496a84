"""Score resampled examples: draw whole clusters with replacement, the same ones for every model.

Errors on rows that share a sentence are correlated: drawing single rows would understate the noise (cluster bootstrap;
Davison and Hinkley 1997, section 3.8). Every model is scored on the same resamples, so a difference of two columns of
the result is the paired bootstrap of the difference, and one matrix product serves all models, each task apart.
"""

from dataclasses import dataclass

import numpy as np

from mtbert.metrics import f1_classes

DRAWS = 10_000
RANKED = 2**22  # values that are ranked at a time
UNITS = 1_000  # the relative error of an interval's width is 1 / sqrt(2 units), 2 % here


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


def accuracies(right: np.ndarray, drawn: Resamples) -> np.ndarray:
    """Return the share of right rows in every draw: [rows, models] -> [draws, models]."""
    return drawn.sums(right) / drawn.sums(np.ones((len(right), 1)))


def pearsons(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    """Return Pearson's r in every draw, 0 where a side is constant: [rows] and [rows, models] -> [draws, models]."""
    x, y = (_standardised(np.asarray(side, dtype=float).reshape(len(labels), -1)) for side in (labels, predictions))
    count = drawn.sums(np.ones((len(x), 1)))
    mean_x, mean_y, xy = drawn.sums(x) / count, drawn.sums(y) / count, drawn.sums(x * y) / count
    spread_x, spread_y = drawn.sums(x * x) / count - mean_x**2, drawn.sums(y * y) / count - mean_y**2
    product = np.maximum(spread_x, 0) * np.maximum(spread_y, 0)
    constant = product < 1e-9  # of columns whose variance is 1, in single precision
    return np.where(constant, 0, (xy - mean_x * mean_y) / np.sqrt(np.where(constant, 1, product)))


def f1s(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    """Return `metrics.f1` in every draw, over the classes of all rows: [rows] and [rows, models] -> [draws, models]."""
    return np.column_stack([_f1s(labels, column, drawn) for column in predictions.T])


def _f1s(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    each = []
    for one in f1_classes(labels, predictions):
        is_one, predicted_one = labels == one, predictions == one
        hits, of_both = drawn.sums(np.column_stack([is_one & predicted_one, is_one.astype(int) + predicted_one])).T
        each.append(np.where(of_both > 0, 2 * hits / np.maximum(of_both, 1), 0))
    return np.mean(each, axis=0)


def spearmans(labels: np.ndarray, predictions: np.ndarray, drawn: Resamples) -> np.ndarray:
    """Return Spearman's rho in every draw, 0 where a side is constant; each draw ranks its rows anew.

    Shapes: [rows] and [rows, models] -> [draws, models].
    """
    blocks = np.array_split(drawn.weights, max(1, drawn.weights.shape[0] * len(labels) // RANKED))
    return np.concatenate([_spearmans(labels, predictions, block[:, drawn.units]) for block in blocks])


def _spearmans(labels: np.ndarray, predictions: np.ndarray, counts: np.ndarray) -> np.ndarray:
    counts = counts.astype(float)
    x = _centred_ranks(labels, counts)
    columns = (_centred_ranks(column, counts) for column in predictions.T)
    return np.column_stack([_weighted_r(x, y, counts) for y in columns])


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
