"""How much each cluster of rows moves a score, so that the noise of rows is known without drawing samples.

A score changes by w I_k where cluster k counts w more: I_k is the sum of its rows' influence functions (Hampel 1974).
Clusters are independent, so two scores covary by sum_k I_k J_k over samples of clusters, to first order: what a cluster
bootstrap estimates by drawing (Davison and Hinkley 1997, section 2.7.2). Rows that share a sentence are a cluster:
single rows would understate the noise.
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from mtbert.scores import metrics, sets
from mtbert.stats.side import Side
from mtbert.tasks import Task


def scored(
    metric: str, labels: np.ndarray, predictions: np.ndarray, clusters: np.ndarray, classes: Sequence[float]
) -> Side:
    """Score predictions as `metrics.score` does.

    Args:
        metric: its name.
        labels: [rows].
        predictions: [rows, seeds].
        clusters: a number for each row, equal for rows of a cluster.
        classes: those that F1 is the mean over, or that sets may hold.
    """
    seeds = list(predictions.T)
    scores = np.array([metrics.score(metric, labels, predicted, classes) for predicted in seeds])
    row_influences = [_of_rows(metric, labels, predicted, classes) for predicted in seeds]
    distinct, cluster_of_row = np.unique(clusters, return_inverse=True)
    moves = np.column_stack([np.bincount(cluster_of_row, row_influence) for row_influence in row_influences])
    return Side(scores, moves, rows=len(labels), clusters=len(distinct))


def task_side(task: Task, labels: np.ndarray, predictions: np.ndarray, clusters: np.ndarray) -> Side:
    """Score a task's predictions; arguments as for `scored`."""
    return scored(task.metric, labels, predictions, clusters, metrics.f1_classes(task.metric, task.classes))


def _of_rows(metric: str, labels: np.ndarray, predictions: np.ndarray, classes: Sequence[float]) -> np.ndarray:
    """Return by how much each row moves the score of one seed, [rows]."""
    if metric in metrics.F1S:
        return _mean_f1(labels, predictions, classes)
    if metric in metrics.OF_SETS:
        members = (sets.members_of(side, len(classes)) for side in (labels, predictions))
        return SETS_INFLUENCES[metric](*members)
    return INFLUENCES[metric](labels, predictions)


def _accuracy(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    right = (labels == predictions).astype(float)
    return (right - right.mean()) / len(right)


def _pearson(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return x y - r (x^2 + y^2) / 2 over the number of rows, x and y standardised; 0 where a side is constant."""
    if np.ptp(labels) == 0 or np.ptp(predictions) == 0:  # their deviations from the mean may be of the last digit
        return np.zeros(len(labels))
    x, y = (np.asarray(side, dtype=float) - np.mean(side) for side in (labels, predictions))
    x, y = x / x.std(), y / y.std()
    return (x * y - np.mean(x * y) * (x**2 + y**2) / 2) / len(x)


def _spearman(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the same of ranks, where a row that counts more also raises the ranks of all rows above it."""
    u, v = (stats.rankdata(side) - (len(side) + 1) / 2 for side in (labels, predictions))
    if not (u.any() and v.any()):
        return np.zeros(len(u))
    uv, uu, vv = u @ v, u @ u, v @ v
    uv_influence = u * v + _above(u, v) + _above(v, u)
    uu_influence = u**2 + 2 * _above(u, u)
    vv_influence = v**2 + 2 * _above(v, v)
    return (uv_influence - uv * (uu_influence / uu + vv_influence / vv) / 2) / np.sqrt(uu * vv)


def _above(ranks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return, for each row, the sum of the values of rows with a higher rank, and half that of rows with its own."""
    _, rank_of_row = np.unique(ranks, return_inverse=True)
    rank_sums = np.bincount(rank_of_row, values)
    sums_from_rank_on = rank_sums[::-1].cumsum()[::-1]
    return (sums_from_rank_on - rank_sums / 2)[rank_of_row]


def _mean_f1(labels: np.ndarray, predictions: np.ndarray, classes: Sequence[float]) -> np.ndarray:
    """Return (2 hits - F1 (positives of both sides)) over the sum of the latter, as the mean over classes in rows."""
    present = metrics.in_rows(labels, predictions, classes)
    if not present:
        return np.zeros(len(labels))
    return np.mean([_f1(labels == number, predictions == number) for number in present], axis=0)


def _f1(gold: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Return the same of one class, or of each label of each row: gold and guess are [rows] or [rows, labels]."""
    positives = gold.astype(float) + guess  # of both sides: 0, 1 or 2
    hits = positives == 2
    total = positives.sum()
    influences = (2 * hits - 2 * hits.sum() / total * positives) / total
    return influences.reshape(len(gold), -1).sum(axis=1)


def _micro_f1(gold: np.ndarray, guess: np.ndarray) -> np.ndarray:
    return _f1(gold, guess) if gold.any() or guess.any() else np.zeros(len(gold))


def _labels_f1(gold: np.ndarray, guess: np.ndarray) -> np.ndarray:
    present = metrics.in_sets(gold, guess)
    if not present:
        return np.zeros(len(gold))
    return np.mean([_f1(gold[:, label], guess[:, label]) for label in present], axis=0)


def _mcc(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return, as of Pearson's r, (xy - r (xx / X + yy / Y) sqrt(XY) / 2) / sqrt(XY), x and y rows of indicators.

    X and Y are the sums of xx and yy over rows. A row that counts more also moves the classes' shares, which does
    nothing to first order, since the sums of x and y are 0.
    """
    x, y = metrics.indicators(labels, predictions)
    xy, xx, yy = (x * y).sum(axis=1), (x * x).sum(axis=1), (y * y).sum(axis=1)
    norm = np.sqrt(xx.sum() * yy.sum())
    if norm == 0:
        return np.zeros(len(x))
    return xy / norm - xy.sum() / norm * (xx / xx.sum() + yy / yy.sum()) / 2


SETS_INFLUENCES = {"micro_f1": _micro_f1, "labels_f1": _labels_f1}
INFLUENCES = {"accuracy": _accuracy, "mcc": _mcc, "pearson": _pearson, "spearman": _spearman}
