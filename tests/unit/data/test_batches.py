"""Batches: what is in them, and in which order they come."""

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
import torch

from mtbert.data.batches import Batch, Examples, Stream, batches_by_length, load
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError
from mtbert.tasks import COURSE

SPECIAL = SpecialTokens(start=101, end=102, padding=0)
PAIRS = pd.DataFrame(
    {
        "id": ["a", "b", "c"],
        "label": [1.0, 0.0, None],
        "tokens1": [[11, 12], [21], [31, 32, 33]],
        "tokens2": [[13], [22, 23, 24], [34]],
    }
)
SINGLES = pd.DataFrame(
    {"id": ["a", "b", "c"], "label": [4, 0, 2], "tokens1": [[11], [21, 22, 23], [31, 32]], "tokens2": [None] * 3}
)


def pairs(encoding: Literal["cross", "bi"], limit: int = 16) -> Examples:
    return Examples(PAIRS, COURSE["qqp"], encoding, SPECIAL, limit)


def singles(count: int, task: str = "sst") -> Examples:
    """Examples "0", "1", ... with as many tokens as their number."""
    rows = [{"id": str(n), "label": n % 5, "tokens1": [7] * n, "tokens2": None} for n in range(count)]
    return Examples(pd.DataFrame(rows), COURSE[task], "cross", SPECIAL, limit=512)


def ids(stream: Stream, batches: int) -> list[tuple[str, ...]]:
    return [stream.next().ids for _ in range(batches)]


def test_single_sentences_are_framed_padded_and_masked():
    batch = Examples(SINGLES, COURSE["sst"], "cross", SPECIAL, limit=16).batch([1, 0])
    assert (batch.task, batch.ids, batch.sequences, len(batch)) == ("sst", ("b", "a"), 1, 2)
    assert batch.input_ids.tolist() == [[101, 21, 22, 23, 102], [101, 11, 102, 0, 0]]
    assert batch.mask.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert batch.token_types.tolist() == [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert batch.labels.tolist() == [0.0, 4.0]


def test_cross_encoding_puts_a_pair_into_one_sequence():
    batch = pairs("cross").batch([0, 1])
    assert (batch.sequences, len(batch)) == (1, 2)
    assert batch.input_ids.tolist() == [[101, 11, 12, 102, 13, 102, 0], [101, 21, 102, 22, 23, 24, 102]]
    assert batch.mask.tolist() == [[1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1]]
    assert batch.token_types.tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]]
    kinds = [batch.input_ids.dtype, batch.mask.dtype, batch.token_types.dtype, batch.labels.dtype]
    assert kinds == [torch.int64, torch.int64, torch.int64, torch.float32]
    assert pairs("cross").batch([0, 2]).labels.isnan().tolist() == [False, True]  # withheld


def test_bi_encoding_stacks_all_first_sentences_then_all_second_ones():
    batch = pairs("bi").batch([0, 1])
    assert (batch.sequences, len(batch)) == (2, 2)
    assert batch.input_ids.tolist() == [
        [101, 11, 12, 102, 0],
        [101, 21, 102, 0, 0],
        [101, 13, 102, 0, 0],
        [101, 22, 23, 24, 102],
    ]
    assert batch.mask.sum(dim=1).tolist() == [4, 3, 3, 5]
    assert pairs("bi").lengths.tolist() == [4, 5, 5]  # of the longer one
    assert batch.token_types.sum().item() == 0


def test_a_batch_of_some_rows_has_what_another_model_predicts_of_these_rows():
    examples = singles(8)
    examples.soft_labels = torch.arange(8.0).unsqueeze(-1) / 10
    kept, spared = examples.split(0.25)
    batch = kept.batch([2, 0])
    assert batch.soft_labels.flatten().tolist() == pytest.approx([int(row) / 10 for row in batch.ids])
    assert batch.to(torch.device("cpu")).soft_labels is not None
    assert spared.batch([0]).soft_labels.item() == pytest.approx(int(spared.ids[0]) / 10)
    assert singles(8).batch([0]).soft_labels is None


def test_a_batch_on_another_device_is_the_same_batch():
    batch = pairs("bi").batch([0, 1])
    moved = batch.to(torch.device("meta"))
    assert {moved.input_ids.device.type, moved.mask.device.type} == {"meta"}
    assert {moved.token_types.device.type, moved.labels.device.type} == {"meta"}
    assert (moved.task, moved.ids, moved.sequences) == ("qqp", ("a", "b"), 2)
    assert isinstance(moved, Batch)


def test_examples_of_a_file(tmp_path: Path):
    PAIRS.assign(sentence1="", sentence2="", line=1, hash=7, cluster=3).to_parquet(tmp_path / "train.parquet")
    examples = load(tmp_path / "train.parquet", COURSE["qqp"], "cross", SPECIAL, limit=6)
    assert examples.ids == ("a", "b", "c")
    assert examples.batch([1]).input_ids.tolist() == [[101, 21, 102, 22, 23, 102]]
    np.testing.assert_array_equal(examples.labels, np.array([1, 0, np.nan], dtype=np.float32))


def test_examples_of_a_file_without_any_label(tmp_path: Path):
    SINGLES.assign(label=None, hash=7, cluster=3).to_parquet(tmp_path / "test.parquet")
    examples = load(tmp_path / "test.parquet", COURSE["sst"], "cross", SPECIAL, limit=16)
    assert np.isnan(examples.labels).tolist() == [True, True, True]
    assert examples.batch([1]).input_ids.tolist() == [[101, 21, 22, 23, 102]]


def test_examples_are_drawn_from_the_whole_file_in_its_order_and_the_same_each_time():
    examples = singles(20)
    assert [examples.drawn(5).ids for _ in range(2)] == [("2", "4", "6", "13", "19")] * 2
    assert examples.drawn(5).labels.tolist() == examples.labels[[2, 4, 6, 13, 19]].tolist()
    assert set(examples.drawn(5).ids) < set(examples.drawn(6).ids)  # fewer rows are some of more rows
    assert (examples.drawn(20).ids, examples.drawn(21).ids, examples.drawn(None).ids) == (examples.ids,) * 3


def test_every_example_comes_once_a_pass():
    stream = Stream(singles(23), size=4, seed=1)
    assert stream.batches_per_pass == 6
    for _ in range(3):
        batches = ids(stream, 6)
        assert sorted(int(name) for batch in batches for name in batch) == list(range(23))
        assert sorted(len(batch) for batch in batches) == [3, 4, 4, 4, 4, 4]


def test_passes_seeds_and_tasks_have_orders_of_their_own():
    first, again, other = (ids(Stream(singles(23), 4, seed), 12) for seed in (1, 1, 2))
    assert first == again
    assert len({tuple(one) for one in (first[:6], first[6:], other[:6])}) == 3
    assert ids(Stream(singles(23, "cfimdb"), 4, seed=1), 6) != first[:6]


def test_a_corpus_that_serves_a_task_has_an_order_of_its_own():
    own, serving = Stream(singles(23), 4, seed=1), Stream(singles(23), 4, seed=1, name="cfimdb_as_sst")
    assert ids(own, 6) != ids(serving, 6)


@pytest.mark.parametrize("drawn", [1, 5, 6, 8, 17])
def test_a_batch_is_the_same_after_skipping_those_before(drawn: int):
    whole = ids(Stream(singles(23), size=4, seed=1), 20)
    resumed = Stream(singles(23), size=4, seed=1)
    resumed.drawn = drawn
    assert ids(resumed, 20 - drawn) == whole[drawn:]


def test_a_batch_larger_than_the_set_holds_all_of_it():
    stream = Stream(singles(3), size=8, seed=1)
    assert [sorted(batch) for batch in ids(stream, 2)] == [["0", "1", "2"], ["0", "1", "2"]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_neighbours_in_length_share_a_batch(seed: int):
    batches = batches_by_length(np.array([5, 1, 4, 2, 6, 3]), 2, np.random.default_rng(seed))
    assert sorted(batches) == [[0, 4], [1, 3], [5, 2]]  # lengths 5 and 6, 1 and 2, 3 and 4


def test_a_shuffled_stream_mixes_lengths_and_has_everything_once_a_pass():
    drawn = ids(Stream(singles(23), 4, seed=1, batching="shuffled"), 6)
    assert sorted(int(n) for batch in drawn for n in batch) == list(range(23))
    by_length = ids(Stream(singles(23), 4, seed=1), 6)
    assert [max(np.ptp([int(n) for n in batch]) for batch in batches) for batches in (drawn, by_length)] == [18, 3]


def test_only_pools_of_fifty_batches_are_sorted():
    batches = batches_by_length(np.arange(205), 2, np.random.default_rng(0))
    assert sorted(number for batch in batches for number in batch) == list(range(205))
    assert sorted(len(batch) for batch in batches) == [1] + [2] * 102
    assert any(max(batch) - min(batch) > 1 for batch in batches)  # else the same would meet in every pass


def test_in_order_gives_the_longest_first_and_every_example_once():
    found = [(picks.tolist(), batch.ids) for picks, batch in singles(5).in_order(size=2)]
    assert found == [([4, 3], ("4", "3")), ([2, 1], ("2", "1")), ([0], ("0",))]


def test_in_order_keeps_the_files_order_among_equal_lengths():
    rows = [picks.tolist() for picks, _ in pairs("cross").in_order(size=3)]
    assert rows == [[1, 2, 0]]


SECOND = np.array([False, True, False])


def test_one_half_chooses_the_epoch_and_the_other_is_scored():
    examples = pairs("bi")
    assert examples.scored.tolist() == [True, True, True]
    assert examples.choosing().ids == ("a", "b", "c")
    examples.halve(SECOND)
    assert examples.scored.tolist() == [True, False, True]
    choosing = examples.choosing()
    assert (choosing.ids, choosing.labels.tolist(), choosing.scored.tolist()) == (("b",), [0.0], [True])
    assert choosing.batch([0]).input_ids.tolist() == examples.batch([1]).input_ids.tolist()


@pytest.mark.parametrize("chooses", [[True] * 3, [False] * 3])
def test_a_set_that_has_no_halves_is_refused(chooses: list[bool]):
    with pytest.raises(DataError, match=r"dev of qqp cannot be halved: its 3 rows .* allowed: whole"):
        pairs("cross").halve(np.array(chooses))
