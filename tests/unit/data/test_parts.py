"""Parts of training rows."""

import numpy as np

from mtbert.data import parts


def test_parts_are_nested_and_hold_whole_clusters():
    clusters = np.repeat(np.arange(40), 2)
    eighth, half, every = (parts.nested(clusters, share, 1) for share in (0.125, 0.5, 1.0))
    assert [len(eighth), len(half), len(every)] == [10, 40, 80]
    assert {*eighth} <= {*half}
    assert all(np.isin(clusters, clusters[half]).nonzero()[0] == half)
    assert {*parts.nested(clusters, 0.125, 2)} != {*eighth}
