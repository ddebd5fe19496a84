"""Places of dev sentences in a picture: which rows have one, and the same of the same embeddings."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from mtbert.scores import points
from mtbert.scores.points import ALIKE, BETWEEN, UNLIKE
from mtbert.tasks import COURSE

LABELS = {"sst": np.arange(6) % 5, "sts": np.array([0.0, 5, 1, 4, 2, 3, 0, 5]), "qqp": np.arange(8) % 2}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Embeddings of all of SST-5, of 7 of 8 pairs of STS-B apart, and of pairs of QQP in one sequence."""
    rng = np.random.default_rng(0)
    embedded = {"sst": rng.normal(size=(1, 6, 3)), "sts": rng.normal(size=(2, 7, 3)), "qqp": rng.normal(size=(1, 8, 3))}
    rows = {"sst/rows": np.arange(6), "sts/rows": np.array([0, 1, 2, 3, 4, 6, 7]), "qqp/rows": np.arange(8)}
    save_file({task: rows.astype(np.float16) for task, rows in embedded.items()} | rows, tmp_path / "embeddings")
    return tmp_path / "embeddings"


@pytest.mark.parametrize(
    ("task", "labels", "kinds"),
    [
        ("qqp", [0, 1], [UNLIKE, ALIKE]),
        ("sts", [0, 1, 1.2, 3.8, 4, 5], [UNLIKE, UNLIKE, BETWEEN, BETWEEN, ALIKE, ALIKE]),
    ],
)
def test_pairs_are_alike_or_not_by_their_label(task: str, labels: list[float], kinds: list[int]):
    assert points.pair_kinds(COURSE[task], np.array(labels)).tolist() == kinds


def test_all_sentences_have_a_place_and_of_pairs_those_that_are_apart_and_alike_or_not(file: Path):
    found = points.of_run(file, LABELS, COURSE)
    assert {task: (table.columns.tolist(), table.index.tolist()) for task, table in found.items()} == {
        "sst": (["x", "y"], [0, 1, 2, 3, 4, 5]),
        "sts": (["x", "y", "x2", "y2"], [0, 1, 2, 3, 6, 7]),
    }
    assert [table.abs().max().max() for table in found.values()] == [500, 500]


def test_pairs_of_three_classes_have_no_places_since_none_of_these_says_alike(file: Path):
    three = COURSE | {"sts": replace(COURSE["sts"], classes=3)}
    assert [*points.of_run(file, LABELS | {"sts": LABELS["sts"] % 3}, three)] == ["sst"]


def test_as_many_pairs_of_either_kind_are_drawn_from_the_whole_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(points, "PAIRS", 3)
    drawn = points._drawn(np.array([ALIKE] * 20 + [BETWEEN] * 20 + [UNLIKE] * 20))
    assert drawn.tolist() == [4, 8, 16, 42, 51, 52]


def test_runs_side_by_side_have_the_places_of_one_alone(file: Path, tmp_path: Path):
    alone = points.of_run(file, LABELS, COURSE)
    for found in points.of_runs([file] * 3, [LABELS] * 3, COURSE, tmp_path / "cache"):
        for task, table in alone.items():
            of_task = found[found["task"] == task].set_index("row")[table.columns]
            assert of_task.to_numpy().tolist() == table.to_numpy().tolist()
            assert of_task.index.tolist() == table.index.tolist()


def test_places_are_computed_once_until_embeddings_or_labels_change(file: Path, tmp_path: Path, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("computed again")

    cache = tmp_path / "cache"
    (first,) = points.of_runs([file], [LABELS], COURSE, cache)
    monkeypatch.setattr(points, "of_run", refuse)
    (again,) = points.of_runs([file], [LABELS], COURSE, cache)
    assert again.equals(first)
    with pytest.raises(AssertionError, match="again"):
        points.of_runs([file], [LABELS | {"qqp": 1 - LABELS["qqp"]}], COURSE, cache)
    save_file({"sst": np.ones((1, 6, 3), np.float16), "sst/rows": np.arange(6)}, file)
    with pytest.raises(AssertionError, match="again"):
        points.of_runs([file], [LABELS], COURSE, cache)


def test_embeddings_without_numbers_of_their_rows_have_no_places(tmp_path: Path):
    save_file({"sst": np.ones((1, 6, 3), np.float16)}, tmp_path / "old")
    assert points.of_run(tmp_path / "old", LABELS, COURSE) == {}
