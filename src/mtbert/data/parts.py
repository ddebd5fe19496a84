"""Parts of rows: a share of train to train on, within every larger one, or to spare; two halves of dev."""

import numpy as np

from mtbert import seeding

LARGE = 0.02  # of all rows, those of a hash that is spared last


def nested(clusters: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return the numbers of a share of rows, in whole clusters; a larger share of the same seed holds a smaller one.

    Args:
        clusters: the number of each row's cluster, [rows].
        share: of all rows; the part has at most so many, but at least one cluster.
        seed: another one has other clusters.
    """
    distinct, cluster_of_row = np.unique(clusters, return_inverse=True)
    rank = np.empty(len(distinct), int)
    rank[seeding.stream(seed, "curve").permutation(len(distinct))] = np.arange(len(distinct))
    order = np.argsort(rank[cluster_of_row], kind="stable")
    ends = np.flatnonzero(np.diff(rank[cluster_of_row][order], append=-1)) + 1  # of each cluster, in order
    fitting = ends[ends <= max(1, round(share * len(clusters)))]
    return np.sort(order[: fitting[-1]] if len(fitting) else order[: ends[0]])


def spared(hashes: np.ndarray, share: float) -> np.ndarray:
    """Return which rows are spared, bool [rows]: of each hash all rows or none, the smallest hashes first.

    They are as near to the share as can be. At least one hash is spared, and at least one is not.

    Args:
        hashes: of the rows, [rows]; rows of one group, or of one text, have the same one in each task.
        share: of all rows.

    Raises:
        ValueError: all rows, of which there are several, have one hash.
    """
    distinct, hash_of_row, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        if len(hashes) > 1:
            raise ValueError("all rows have one hash")
        return np.zeros(len(hashes), bool)
    order = np.lexsort((distinct, sizes > LARGE * len(hashes)))
    ends = np.cumsum(sizes[order])[:-1]
    count = max(1, int(share * len(hashes)))
    is_spared = np.zeros(len(distinct), bool)
    is_spared[order[: int(np.abs(ends - count).argmin()) + 1]] = True
    return is_spared[hash_of_row]


def halves(cluster: np.ndarray) -> np.ndarray:
    """Split whole clusters [rows] into two halves of about as many rows: a mask [rows], the same for the same clusters.

    The order is random, so that no pattern of the file matters; large clusters come first, each to the smaller half.
    """
    sizes = np.bincount(cluster)
    order = np.random.default_rng(0).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    in_first = np.zeros(len(sizes), dtype=bool)
    surplus = 0  # of rows in the first half
    for number in order:
        in_first[number] = surplus <= 0
        surplus += int(sizes[number]) if in_first[number] else -int(sizes[number])
    return in_first[cluster]
