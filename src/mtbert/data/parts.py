"""Parts of training rows, each within every larger one: a share to train on, and a share to spare."""

import numpy as np

from mtbert import seeding

LARGE = 0.02  # of all rows, those of a place that is spared last


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


def spared(places: np.ndarray, share: float) -> np.ndarray:
    """Return which rows are spared, bool [rows]: of each place all rows or none, the smallest places first.

    They are as near to the share as whole places can be. At least one place is spared, and at least one is not.

    Args:
        places: a number of each row, [rows]; rows of one group, or of one text, have the same one in each task.
        share: of all rows.

    Raises:
        ValueError: all rows, of which there are several, have one place.
    """
    distinct, place_of_row, sizes = np.unique(places, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        if len(places) > 1:
            raise ValueError("all rows have one place")
        return np.zeros(len(places), bool)
    order = np.lexsort((distinct, sizes > LARGE * len(places)))
    ends = np.cumsum(sizes[order])[:-1]
    count = max(1, int(share * len(places)))
    is_spared = np.zeros(len(distinct), bool)
    is_spared[order[: int(np.abs(ends - count).argmin()) + 1]] = True
    return is_spared[place_of_row]
