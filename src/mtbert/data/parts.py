"""Parts of training rows, each within every larger one: a share to train on, for learning curves."""

import numpy as np

from mtbert import seeding


def nested(clusters: np.ndarray, share: float, draw: int) -> np.ndarray:
    """Return the numbers of a share of rows, in whole clusters; a larger share of the same draw holds a smaller one.

    Args:
        clusters: the number of each row's cluster, [rows].
        share: of all rows; the part has at most so many, but at least one cluster.
        draw: another one has other clusters. A training draws by its seed.
    """
    distinct, cluster_of_row = np.unique(clusters, return_inverse=True)
    place = np.empty(len(distinct), int)
    place[seeding.stream(draw, "curve").permutation(len(distinct))] = np.arange(len(distinct))
    order = np.argsort(place[cluster_of_row], kind="stable")
    ends = np.flatnonzero(np.diff(place[cluster_of_row][order], append=-1)) + 1  # of each cluster, in order
    fitting = ends[ends <= max(1, round(share * len(clusters)))]
    return np.sort(order[: fitting[-1]] if len(fitting) else order[: ends[0]])
