"""`mtbert doubtful`: the files of a build folder with one task."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.labelling import run
from mtbert.provenance import seals
from mtbert.scores import predictions

TOPIC = {
    "classes": 2, "sentences": ["text"], "label": "topic", "metric": "accuracy", "labels": {"bug": 0, "praise": 1},
    "files": {"train": "topic-train.csv", "dev": "topic-dev.csv"},
}  # fmt: skip


def rows(split: str, count: int) -> pd.DataFrame:
    """Texts that say their class; line 4 of each file has the other label."""
    labels = np.arange(count) % 2
    texts = [f"{'great' if label else 'crash'} {split} {row}" for row, label in enumerate(labels)]
    labels[2] = 1
    columns = {
        "id": [f"{split}{row}" for row in range(count)],
        "line": range(2, count + 2),
        "label": labels.astype(float),
        "cluster": range(count),
    }
    return pd.DataFrame(columns | {"sentence1": texts, "sentence2": None})


def plan(build: Path, task: dict, **more: Any) -> None:
    files.write_yaml(layout.plan(build), {"tasks": {"topic": task}, "data_dir": str(build / "own"), **more})


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def embed(texts: list[str]) -> np.ndarray:
        return np.stack([[float("great" in text), 1.0, len(text) / 100] for text in texts])

    monkeypatch.setattr(run, "Embeddings", lambda *_: embed)
    for split, count in (("train", 20), ("dev", 10)):
        file = layout.examples(layout.data(tmp_path), "topic", split)
        file.parent.mkdir(parents=True, exist_ok=True)
        rows(split, count).to_parquet(file)
    plan(tmp_path, TOPIC)
    files.write_text(layout.encoder(tmp_path) / "encoder.json", "{}")
    for folder in (layout.data(tmp_path), layout.encoder(tmp_path)):
        seals.seal(folder)
    return tmp_path


def trained(build: Path, ids: list[str]) -> None:
    """A run that predicts the label of all dev rows but the third."""
    folder = layout.run(build, "one", 1)
    sure = [0.1 if row % 2 == 0 else 0.9 for row in range(10)]
    table = pd.DataFrame({"id": ids, "label": 0.0, "prediction": np.round(sure), "scored": True})
    table = table.assign(probability_0=1 - np.array(sure), probability_1=sure)
    predictions.write(layout.predictions(folder, "topic", "dev"), table)
    seals.seal(folder)


def test_labels_that_contradict_their_text_are_listed_with_their_place(build: Path, capsys: pytest.CaptureFixture[str]):
    trained(build, [f"dev{row}" for row in range(10)])
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    names = ("text", "label", "predicted", "file", "line", "models")
    assert sorted([line[name] for name in names] for line in lines) == [
        ["crash dev 2", "praise", "bug", "topic-dev.csv", "4", "2"],
        ["crash train 2", "praise", "bug", "topic-train.csv", "4", "1"],
    ]
    assert "2 doubtful labels of 30" in capsys.readouterr().out


def test_a_model_of_a_part_of_train_has_no_say(build: Path):
    plan(build, TOPIC, variants={"one": {"part": {"of": "two", "share": 0.5}}})
    trained(build, [f"dev{row}" for row in range(10)])
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    assert {line["models"] for line in lines} == {"1"}


def test_a_model_of_a_fold_has_a_say_on_its_fold_and_each_row_stands_once(
    build: Path, capsys: pytest.CaptureFixture[str]
):
    with_folds = TOPIC | {"folds": 2, "files": {"train": "topic-train.csv"}}
    plan(build, with_folds)
    rows("train", 20).to_parquet(layout.examples(layout.data(build), "topic", "dev"))
    seals.seal(layout.data(build))
    trained(build, [f"train{row}" for row in range(10)])  # fold 1; the third row of it is labelled wrongly
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    assert [(line["text"], line["file"], line["models"]) for line in lines] == [
        ("crash train 2", "topic-train.csv", "2")
    ]
    assert "1 doubtful label of 20" in capsys.readouterr().out


def test_rows_of_a_group_do_not_judge_each_other(build: Path):
    """The faulty label is that of all rows of its group, whose texts alone say which group it is."""
    customers = [row % 5 for row in range(20)]
    table = rows("train", 20).assign(
        sentence1=[f"{'great' if customer == 0 else 'crash'} {row}" for row, customer in enumerate(customers)],
        label=[float(customer == 0) for customer in customers],
        cluster=customers,
    )
    table.to_parquet(layout.examples(layout.data(build), "topic", "train"))
    layout.examples(layout.data(build), "topic", "dev").unlink()
    seals.seal(layout.data(build))
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    assert sorted(line["text"] for line in lines) == ["great 0", "great 10", "great 15", "great 5"]


def test_of_several_labels_a_row_one_is_to_be_taken_away_or_added(build: Path, capsys: pytest.CaptureFixture[str]):
    several = TOPIC | {"several": True, "metric": "micro_f1", "label": "topics"}
    plan(build, several)
    for split, wrong in (("train", 3.0), ("dev", 0.0)):  # of line 4, whose text says bug
        file = layout.examples(layout.data(build), "topic", split)
        labels = pd.Series([1.0, 2.0] * 10)  # bug alone, praise alone
        labels[2] = wrong
        pd.read_parquet(file).assign(label=labels).to_parquet(file)
    seals.seal(layout.data(build))
    trained(build, [f"dev{row}" for row in range(10)])
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    names = ("text", "label", "predicted", "change", "doubtful_label", "models")
    assert sorted([line[name] for name in names] for line in lines) == [
        ["crash dev 2", "[]", '["bug"]', "add", "bug", "2"],
        ["crash train 2", '["bug", "praise"]', '["bug"]', "take away", "praise", "1"],
    ]
    assert "2 doubtful rows of 30" in capsys.readouterr().out


def made_from(build: Path, dev: str, described: dict = TOPIC) -> None:
    """What the run was made from: a dev of that digest, and a task so described."""
    content = {"settings": {"described": {"topic": described}}, "code": {}, "files": {"data/topic/dev.parquet": dev}}
    files.write_json(layout.run(build, "one", 1) / layout.INPUTS, content)


def dev(build: Path) -> str:
    return files.sha256(layout.examples(layout.data(build), "topic", "dev"))


def test_a_run_of_the_rows_and_classes_of_now_has_a_say(build: Path, capsys: pytest.CaptureFixture[str]):
    trained(build, [f"dev{row}" for row in range(10)])
    made_from(build, dev(build))
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    assert sorted((line["line"], line["file"], line["models"]) for line in lines) == [
        ("4", "topic-dev.csv", "2"),
        ("4", "topic-train.csv", "1"),
    ]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("is_of_this_dev", "described", "changed"),
    [
        (False, TOPIC, "data topic/dev.parquet changed"),
        (True, TOPIC | {"labels": {"praise": 0, "bug": 1}}, r"topic.labels {.*} -> {.*}"),
    ],
)
def test_a_run_of_other_rows_or_classes_is_left_out_by_name(
    build: Path, capsys: pytest.CaptureFixture[str], is_of_this_dev: bool, described: dict, changed: str
):
    trained(build, [f"dev{row}" for row in range(10)])
    made_from(build, dev(build) if is_of_this_dev else "other", described)
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    assert {line["models"] for line in lines} == {"1"}
    assert re.fullmatch(
        f"note: topic: one 1 made before these changed: {changed}; left out, `dvc repro` makes them again\n",
        capsys.readouterr().err,
    )


def test_where_no_other_model_has_a_say_a_run_of_other_rows_is_refused(build: Path, monkeypatch: pytest.MonkeyPatch):
    trained(build, [f"dev{row}" for row in range(10)])
    made_from(build, "other")
    monkeypatch.setattr(run.doubtful, "of_other_folds", lambda *_: None)
    with pytest.raises(
        DataError, match=r"^topic: one 1 made before .*; no other model predicts its labels; `dvc repro`"
    ):
        run.run(build)
    assert not layout.doubtful(build).exists()


def test_held_out_rows_lie_in_the_file_of_train(build: Path):
    plan(build, TOPIC, held_out=10)
    files.write_yaml(layout.plan(build, "preprocess"), {"splits": [["topic", "dev"], ["topic", "train"]]})
    run.run(build)
    lines = [*csv.DictReader(io.StringIO((build / "doubtful/topic.csv").read_text()))]
    assert {(line["split"], line["file"]) for line in lines} == {
        ("train", "topic-train.csv"),
        ("dev", "topic-train.csv"),
    }


@pytest.mark.parametrize(
    ("line", "other"),
    [(4, "crash train 2,bug"), (4, "crash train two,praise"), (21, "")],
    ids=["label", "text", "gone"],
)
def test_a_file_that_has_changed_is_not_listed_from_what_was_read_of_it(build: Path, line: int, other: str):
    table = rows("train", 20)
    lines = ["text,topic", *(f"{text},{['bug', 'praise'][int(label)]}"
             for text, label in zip(table["sentence1"], table["label"], strict=True))]  # fmt: skip
    file = build / "own/topic-train.csv"
    files.write_text(file, "\n".join(lines))
    run.run(build)
    files.write_text(file, "\n".join([*lines[: line - 1], other, *lines[line:]]))
    with pytest.raises(
        DataError, match=rf"topic-train\.csv, line {line}: the row is another than .*; `dvc repro preprocess` reads"
    ):
        run.run(build)


def test_a_run_of_other_rows_is_refused(build: Path):
    trained(build, [f"old{row}" for row in range(10)])
    with pytest.raises(DataError, match=r"one/1 predicts other rows than dev has now; `dvc repro train@one-1` makes"):
        run.run(build)
    assert not layout.doubtful(build).exists()
