"""Folds: every row is dev of one fold, in whole clusters and groups, with each class in all folds."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtbert.data import drawing
from mtbert.data.preprocess import _dev_folds, preprocess
from mtbert.errors import DataError
from mtbert.files import write_yaml
from mtbert.tasks import Task

TASK = Task("mood", 2, ("text",), "mood", "accuracy", files={"train": "a.csv"}, folds=5)
YAML = "{}:\n  files: {{train: {}.csv}}\n  sentences: [text]\n  label: mood\n  classes: 2\n  folds: 5\n"


def write(folder: Path, rows: list[str], name: str = "a", columns: str = "text,mood") -> None:
    (folder / f"{name}.csv").write_text("\n".join([columns, *rows]) + "\n")


def read(folder: Path, task: Task = TASK, fold: int | None = None) -> tuple[list[str], list[str]]:
    """The texts of dev and of train."""
    splits = drawing.Splits(folder, {task.name: task})
    dev, train = (splits.read(task, split, fold).examples for split in ("dev", "train"))
    return [row.sentence1 for row in dev], [row.sentence1 for row in train]


def test_each_row_is_in_one_fold_and_a_folds_train_is_the_others(tmp_path: Path) -> None:
    write(tmp_path, [f"text {n},{n % 2}" for n in range(40)])
    every = [f"text {n}" for n in range(40)]
    assert read(tmp_path) == (every, every)
    folds = [read(tmp_path, fold=fold) for fold in range(5)]
    assert sorted(text for dev, _ in folds for text in dev) == sorted(every)
    assert [(len(dev), sorted(dev + train) == sorted(every)) for dev, train in folds] == [(8, True)] * 5


def test_a_class_has_rows_in_each_fold(tmp_path: Path) -> None:
    write(tmp_path, [f"text {n},{int(n < 5)}" for n in range(50)])
    rare = {f"text {n}" for n in range(5)}
    assert [len(rare & {*read(tmp_path, fold=fold)[0]}) for fold in range(5)] == [1] * 5


def test_a_row_stays_in_its_fold_where_the_file_is_sorted_otherwise(tmp_path: Path) -> None:
    rows = [f"text {n},{n % 2}" for n in range(40)]
    write(tmp_path, rows)
    before = [{*read(tmp_path, fold=fold)[0]} for fold in range(5)]
    write(tmp_path, rows[::-1])
    assert [{*read(tmp_path, fold=fold)[0]} for fold in range(5)] == before


def test_a_group_and_equal_texts_are_in_one_fold(tmp_path: Path) -> None:
    write(tmp_path, [f"text {n // 2},{n % 2},c{n // 8}" for n in range(80)], columns="text,mood,customer")
    task = replace(TASK, group_on="customer")
    fold_by_group: dict[str, set[int]] = {}
    splits = drawing.Splits(tmp_path, {"mood": task})
    for fold in range(5):
        for row in splits.read(task, "dev", fold).examples:
            fold_by_group.setdefault(row.group, set()).add(fold)
    assert Counter(len(folds) for folds in fold_by_group.values()) == {1: 10}


def test_a_row_is_not_trained_on_in_its_own_fold_nor_where_another_task_has_its_group(tmp_path: Path) -> None:
    described = {
        name: {"files": {"train": f"{name}.csv"}, "sentences": ["text"], "label": "mood", "classes": 2, "folds": 2}
        | {"group_on": "customer"}
        for name in ("a", "b")
    }
    write_yaml(tmp_path / "tasks.yaml", described)
    write(tmp_path, [f"text {n},{n % 2},c{n // 4}" for n in range(16)], "a", "text,mood,customer")
    write(tmp_path, [f"other {n},{n % 2},c{n // 2}" for n in range(16)], "b", "text,mood,customer")
    preprocess(tmp_path, tmp_path / "out", lambda texts: [[1]] * len(texts), {("a", "train")})
    fold = pd.read_parquet(tmp_path / "out/a/dev.parquet")["fold"]  # of customers 0 to 3, four rows each
    of_b = pd.read_parquet(tmp_path / "out/b/train.parquet")  # two rows of each customer, from 0 to 7
    of_others = [1 << fold[2 * n] for n in range(8)] + [0] * 8
    expected = [(1 << own) | other for own, other in zip(of_b["fold"], of_others, strict=True)]
    assert of_b["dev_folds"].tolist() == expected


@pytest.mark.parametrize(("column", "expected"), [("customer", [0b01, 0b10]), ("sender", [0, 0])])
def test_groups_of_two_columns_are_never_the_same(column: str, expected: list[int]) -> None:
    tasks = {"a": replace(TASK, folds=0, group_on="customer"), "b": replace(TASK, folds=2, group_on=column)}
    rows = pd.DataFrame({"group": [7, 8]})
    of_each = _dev_folds(tasks, {("a", "train"): rows, ("b", "dev"): rows}, {"b": np.array([0, 1])})
    assert of_each["a"].tolist() == expected


def test_two_folds_of_whole_groups_need_not_be_halves(tmp_path: Path) -> None:
    sizes = [7, 5, 3]
    rows = [f"text {n},{n % 2},c{group}" for n, group in enumerate(np.repeat([0, 1, 2], sizes))]
    write(tmp_path, rows, columns="text,mood,customer")
    dev, train = read(tmp_path, replace(TASK, group_on="customer", folds=2), fold=0)
    assert sorted([len(dev), len(train)]) in ([5, 10], [7, 8])


def test_rows_that_share_too_much_are_refused(tmp_path: Path) -> None:
    write(tmp_path, [f"text {max(n, 30)},{n % 2}" for n in range(40)])
    with pytest.raises(DataError, match=r"a\.csv: its 40 rows make no 5 folds that are about alike .*31.* set fewer"):
        read(tmp_path)


def test_preprocessing_writes_all_rows_twice_and_the_fold_of_each(tmp_path: Path) -> None:
    write(tmp_path, [f"text {n},{n % 2}" for n in range(40)])
    (tmp_path / "tasks.yaml").write_text(YAML.format("mood", "a"))
    report = preprocess(tmp_path, tmp_path / "out", lambda texts: [[1]] * len(texts), {("mood", "train")})
    train, dev, shared = (
        pd.read_parquet(tmp_path / f"out/mood/{name}.parquet") for name in ("train", "dev", "dev-shared")
    )
    assert train.drop(columns="dev_folds").equals(dev)
    assert dev["fold"].value_counts().to_dict() == dict.fromkeys(range(5), 8)
    assert {*shared["shares"], *shared["in_train"]} == {False}
    assert report["faults"] == [
        "a.csv: each of its 40 rows is predicted by a model that did not see it (5 folds, drawn by their text)"
    ]


def test_a_row_is_in_the_train_of_its_own_seeds_only_by_other_folds(tmp_path: Path) -> None:
    write(
        tmp_path, [f"text {n},{n % 2}" for n in range(38)] + ["text 0!,0", "text 1 !,1"]
    )  # without punctuation, they are the same
    (tmp_path / "tasks.yaml").write_text(YAML.format("mood", "a"))
    preprocess(tmp_path, tmp_path / "out", lambda texts: [[1]] * len(texts), {("mood", "train")})
    fold = pd.read_parquet(tmp_path / "out/mood/dev.parquet")["fold"]
    in_train = pd.read_parquet(tmp_path / "out/mood/dev-shared.parquet")["in_train"]
    pairs = ((0, 38), (1, 39))
    apart = [fold[first] != fold[second] for first, second in pairs]
    assert [(bool(in_train[a]), bool(in_train[b])) for a, b in pairs] == [(one, one) for one in apart]
    assert any(apart)
