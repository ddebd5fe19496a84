"""Parts of training rows."""

import numpy as np
import pytest

from mtbert.data import parts


def test_parts_are_nested_and_hold_whole_clusters():
    clusters = np.repeat(np.arange(40), 2)
    eighth, half, every = (parts.nested(clusters, share, 1) for share in (0.125, 0.5, 1.0))
    assert [len(eighth), len(half), len(every)] == [10, 40, 80]
    assert {*eighth} <= {*half}
    assert all(np.isin(clusters, clusters[half]).nonzero()[0] == half)
    assert {*parts.nested(clusters, 0.125, 2)} != {*eighth}


@pytest.mark.parametrize(
    ("hashes", "share", "is_spared"),
    [
        ([40, 10, 30, 20], 0.25, [False, True, False, False]),
        ([40, 10, 30, 20], 0.5, [False, True, False, True]),
        ([7, 7, 7, 9, 9], 0.1, [True, True, True, False, False]),  # a whole hash, though it is more than a tenth
        ([1, *[2] * 98, 3], 0.5, [True, *[False] * 98, True]),  # the hash of many rows comes last
        ([5], 0.5, [False]),
    ],
)
def test_rows_of_one_hash_are_held_out_together(hashes: list[int], share: float, is_spared: list[bool]):
    assert parts.spared(np.array(hashes, np.uint64), share).tolist() == is_spared


def test_a_larger_share_holds_out_what_a_smaller_one_does():
    hashes = np.repeat(np.random.default_rng(0).permutation(60), 3)
    few, many = (parts.spared(hashes, share) for share in (0.1, 0.3))
    assert (few.sum(), many.sum()) == (18, 54)
    assert many[few].all()


def test_rows_of_one_hash_cannot_be_spared():
    with pytest.raises(ValueError, match="all rows have one hash"):
        parts.spared(np.array([3, 3]), 0.5)


def test_halves_are_of_whole_clusters_and_even() -> None:
    cluster = np.array([0, 0, 0, 1, 2, 3, 3])
    first = parts.halves(cluster)
    assert len({bool(half) for half in first[:3]}) == 1 == len({bool(half) for half in first[5:]})
    assert sorted([int(first.sum()), int((~first).sum())]) == [3, 4]


def test_no_pattern_of_the_file_decides_on_the_halves() -> None:
    first = parts.halves(np.arange(1000))
    assert first.sum() == 500
    assert 200 < first[::2].sum() < 300  # every other row, as where labels take turns
