"""Folds: each row is predicted by a model that did not see it, and the folds' models share most training rows.

A side of N folds has a column for each: its score d_f, and by how much each cluster of rows moves it. The score of the
pooled predictions is the mean of the columns. So a cluster k of fold f, which moves the pooled score by I_k, moves d_f
by N I_k, and no other column:

    d_f = S + N sum_{k in f} I_k

Of a split that all models predict, d_f is the score of the models of fold f, and a cluster moves every column.

The difference of two sides varies with

    error^2 = c + max(t^2 (1 / N + 1 / (N - 1)), c / (N - 1))

c: what other rows change: sum_k m_k^2, m_k the mean over columns of the cluster's moves of the difference.
t^2: what other trainings change: the variance of the difference over columns, less what rows change in it,
    sum_k var_f(m_kf). It holds the noise of seeds, and of training rows.
1 / (N - 1): rows of test over rows of train. Trainings that share rows vary less than trainings on other rows would
    (Nadeau and Bengio 2003, equation 8). Few folds may agree by luck, so this share of c counts at least.

No estimate without bias exists (Bengio and Grandvalet 2004). The degrees of freedom are Welch's: of the second part
N - 1, of c clusters - 1. benchmarks/folds.py measures how often the interval misses.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtbert.stats.side import Side


def of_pooled(side: Side, fold_of_cluster: np.ndarray, folds: int) -> Side:
    """Return the side of pooled predictions with a column for each fold; its mean is the pooled score.

    Args:
        side: scored on the predictions of all folds together, a column for each repeat of trainings.
        fold_of_cluster: the fold of each cluster, from 0, [clusters].
        folds: their number, N.
    """
    moves = np.where(fold_of_cluster[:, None] == np.arange(folds), folds * side.moves.mean(axis=1, keepdims=True), 0.0)
    by_fold = moves.sum(axis=0)
    scores = side.mean + by_fold - by_fold.mean()
    return replace(side, scores=scores, moves=moves, has_seeds=False, folds=folds)


def of_seeds(side: Side, fold_of_seed: Sequence[int], folds: int) -> Side:
    """Return the side of a split that each seed predicts as a whole, with the mean over seeds of each fold.

    Args:
        side: a column for each seed; of a side without seeds, one.
        fold_of_seed: the fold of each column, from 0; each fold has one at least.
        folds: their number, N.
    """
    if not side.has_seeds:
        return replace(side, folds=folds)
    columns = [np.flatnonzero(np.asarray(fold_of_seed) == fold) for fold in range(folds)]
    scores = np.array([side.scores[of_fold].mean() for of_fold in columns])
    moves = np.column_stack([side.moves[:, of_fold].mean(axis=1) for of_fold in columns])
    return replace(side, scores=scores, moves=moves, has_seeds=False, folds=folds)


def variance(ours: Side, other: Side) -> tuple[float, float]:
    """Return the two parts of error^2 of a difference: c, and what other trainings change.

    The sides are scored on the same rows, and one of them has folds at least.
    """
    folds = max(ours.folds, other.folds)
    moves, scores = ours.moves - other.moves, ours.scores - other.scores  # a side of one column is alike in all
    rows = float((moves.mean(axis=1) ** 2).sum())
    least = rows / (folds - 1)
    if len(scores) < 2:
        return rows, least
    beyond_rows = float(scores.var(ddof=1)) - float(moves.var(axis=1, ddof=1).sum())
    return rows, max(beyond_rows * (1 / folds + 1 / (folds - 1)), least)
