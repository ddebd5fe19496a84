"""The mean over a group of rows, less the mean over all others: how far a model is worse on the group.

Rows of a cluster move both means; the rest is as in `mtbert.stats.estimates`, for sides without seeds.
"""

import numpy as np

from mtbert.stats.estimates import Estimate, difference
from mtbert.stats.side import Side


def less_the_rest(values: np.ndarray, is_inside: np.ndarray, clusters: np.ndarray) -> Estimate:
    """Return the difference of two means, first the group's.

    Args:
        values: of a row how good its predictions are, [rows].
        is_inside: which rows are of the group, some and not all, [rows].
        clusters: a number for each row, equal for rows of a cluster.
    """
    return difference(_mean(values, is_inside, clusters), _mean(values, ~is_inside, clusters))


def _mean(values: np.ndarray, is_inside: np.ndarray, clusters: np.ndarray) -> Side:
    distinct, cluster_of_row = np.unique(clusters, return_inverse=True)
    mean, count = values[is_inside].mean(), is_inside.sum()
    moves = np.bincount(cluster_of_row, np.where(is_inside, values - mean, 0.0) / count, len(distinct))
    of_group = len(np.unique(clusters[is_inside]))
    return Side(np.array([mean]), moves[:, None], int(count), of_group, has_seeds=False)
