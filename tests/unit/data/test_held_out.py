"""Training rows in the place of dev."""

from pathlib import Path

import numpy as np
import pytest

from mtbert import files
from mtbert.data import checks, held_out
from mtbert.data.preprocess import TaskSplit, preprocess
from mtbert.data.readers import Example
from mtbert.errors import DataError

HEADER = "\tid\tsentence1\tsentence2\tis_duplicate\n"
# The first two and the sixth hang together, over b and a, and so does the fifth.
PAIRS = [("a", "b"), ("B", "c"), ("d", "e"), ("f", "g"), ("h", "i"), ("i ", "a"), ("k", "l"), ("m", "n")]
ROWS = "".join(f"{number}\tq{number}\t{one}\t{two}\t{number % 2}\n" for number, (one, two) in enumerate(PAIRS))
NEEDED: set[TaskSplit] = {("qqp", "train"), ("qqp", "dev")}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Eight pairs to train on, one of dev and one of test."""
    texts = {"train": ROWS, "dev": "0\tdev\tx\ty\t1\n", "test-student": "0\ttest\tx\ty\t1\n"}
    for split, text in texts.items():
        files.write_text(tmp_path / f"data/cs224n/quora-{split}.csv", HEADER + text)
    return tmp_path / "data"


def made(data: Path, held: int) -> Path:
    preprocess(data, data.parent / "out", lambda texts: [[1]] * len(texts), NEEDED, held)
    return data.parent / "out"


def test_held_out_rows_take_the_place_of_dev_and_share_no_sentence_with_those_that_stay(data: Path) -> None:
    qqp = made(data, 4) / "qqp"
    train, dev = (files.read_parquet(qqp / f"{split}.parquet") for split in ("train", "dev"))
    assert len(dev) == 4
    assert sorted([*train["id"], *dev["id"]]) == [f"q{number}" for number in range(8)]
    words = [{text.strip().lower() for text in [*part["sentence1"], *part["sentence2"]]} for part in (train, dev)]
    assert words[0].isdisjoint(words[1])
    assert not (qqp / "test.parquet").exists()
    shared = files.read_parquet(qqp / "dev-shared.parquet")
    assert list(shared["id"]) == list(dev["id"])
    assert (set(shared["in_train"]), set(shared["shares"])) == ({False}, {False})


def test_such_data_are_nobodys_dev(data: Path) -> None:
    assert files.read_json(made(data, 4) / "report.json")["whose"] == "own"
    assert list(files.read_parquet(made(data, 0) / "qqp/dev.parquet", ["id"])["id"]) == ["dev"]


def test_clusters_stay_whole_and_no_more_than_fit_are_held_out() -> None:
    assert held_out.choose(np.array([0, 0, 0, 0, 1, 2, 3, 3]), 3).tolist() == [False] * 4 + [True, True, False, False]


def test_a_cluster_that_tasks_share_is_held_out_of_both_or_of_none() -> None:
    texts = {"topic": range(40), "urgent": range(20, 60), "other": range(60, 100)}
    rows = {
        task: checks.digests(Example("", f"text {n}", None, 0, n) for n in of_task) for task, of_task in texts.items()
    }
    masks = held_out.draw(rows, 10)
    held = {task: {n for n, is_held in zip(texts[task], mask, strict=True) if is_held} for task, mask in masks.items()}
    assert [len(of_task) for of_task in held.values()] == [10, 10, 10]
    assert held["topic"] & {*texts["urgent"]} == held["urgent"] & {*texts["topic"]} != set()
    assert (masks["other"] == held_out.choose(np.arange(40), 10)).all()


def test_more_than_half_is_refused(data: Path) -> None:
    with pytest.raises(DataError, match="held_out is 5; allowed: at most half of the 8 rows of qqp"):
        made(data, 5)
