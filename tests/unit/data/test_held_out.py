"""Training rows held out as a dev set of their own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtbert.data import held_out
from mtbert.data.held_out import hold_out
from mtbert.errors import DataError
from mtbert.files import read_parquet

PAIRS = [("a", "b"), ("B", "c"), ("d", "e"), ("f", "g"), ("h", "i"), ("i ", "a"), ("k", "l"), ("m", "n")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Eight pairs: the first two and the sixth hang together, over b and a, and so does the fifth."""
    rows = [
        {"id": f"q{number}", "sentence1": one, "sentence2": two, "label": number % 2, "line": number + 2}
        for number, (one, two) in enumerate(PAIRS)
    ]
    table = pd.DataFrame(rows).astype({"label": float}).assign(tokens1=[[1, 2]] * 8, tokens2=[[3]] * 8)
    (tmp_path / "data/qqp").mkdir(parents=True)
    table.to_parquet(tmp_path / "data/qqp/train.parquet", index=False)
    return tmp_path / "data"


def ids(directory: Path, split: str) -> list[str]:
    return list(read_parquet(directory / "qqp" / f"{split}.parquet", ["id"])["id"])


def words(directory: Path, split: str) -> set[str]:
    table = read_parquet(directory / "qqp" / f"{split}.parquet")
    return {text.strip().lower() for column in ("sentence1", "sentence2") for text in table[column]}


@pytest.mark.parametrize("seed", range(6))
def test_held_out_rows_share_no_sentence_with_those_that_stay(data: Path, tmp_path: Path, seed: int) -> None:
    count = hold_out(data, ["qqp"], tmp_path / "out", 4, seed)
    train, dev = ids(tmp_path / "out", "train"), ids(tmp_path / "out", "dev")
    assert count == {"qqp": 4} == {"qqp": len(dev)}
    assert sorted([*train, *dev]) == [f"q{number}" for number in range(8)]
    assert not words(tmp_path / "out", "train") & words(tmp_path / "out", "dev")


def test_clusters_stay_whole_and_no_more_than_fit_are_held_out() -> None:
    cluster = np.array([0, 0, 0, 0, 1, 2, 3, 3])
    for seed in range(20):
        held = held_out.chosen(cluster, 3, seed)
        assert not held[:4].any()
        assert held[6] == held[7]
        assert held.sum() in (2, 3)


def test_the_same_rows_are_split_alike_and_by_another_seed_otherwise(data: Path, tmp_path: Path) -> None:
    found = {}
    for name, seed in (("one", 1), ("two", 1), ("three", 0)):
        hold_out(data, ["qqp"], tmp_path / name, 3, seed)
        found[name] = [
            (tmp_path / name / "qqp" / f"{part}.parquet").read_bytes() for part in ("train", "dev", "dev-rows")
        ]
    assert found["one"] == found["two"] != found["three"]


def test_every_row_is_kept_and_of_a_held_out_one_is_told_what_a_score_has_to_know(data: Path, tmp_path: Path) -> None:
    hold_out(data, ["qqp"], tmp_path / "out", 3, 1)
    rows = read_parquet(tmp_path / "out/qqp/dev-rows.parquet")
    assert list(rows) == ["id", "cluster", "chooses", "in_train", "in_pretraining", "shares"]
    assert list(rows["id"]) == ids(tmp_path / "out", "dev")
    assert set(rows["chooses"]) == {True, False}
    assert (set(rows["in_train"]), set(rows["shares"])) == ({False}, {False})
    before = read_parquet(data / "qqp/train.parquet")
    parts = [read_parquet(tmp_path / "out/qqp" / f"{split}.parquet") for split in ("train", "dev")]
    after = pd.concat(parts).sort_values("id", ignore_index=True)
    assert after.astype(str).equals(before.astype(str))


def test_more_than_half_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"5 rows of qqp are to be held out of 8 \(search.held_out\); allowed: at most half"
    ):
        hold_out(data, ["qqp"], tmp_path / "out", 5, 1)
    with pytest.raises(DataError, match=r"sst/train\.parquet is missing"):
        hold_out(data, ["sst"], tmp_path / "out", 1, 1)
    assert not (tmp_path / "out").exists()
