"""The tasks' files, against the corpora's own formats, and what is refused in them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mtbert import files, tasks
from mtbert.data import readers
from mtbert.errors import MtbertError

# Those of the course and the corpora; another task needs no line here.
TASKS = {name: tasks.TASKS[name] for name in ("sst", "qqp", "sts", "cfimdb", "snli", "mnli")}
MOOD = {
    "title": "Mood", "kind": "binary", "classes": 2, "metric": "accuracy", "reader": "parquet", "id": "",
    "files": {"train": "mood/train.parquet", "dev": "mood/dev.parquet"}, "sentences": ["text"], "label": "label",
}  # fmt: skip


def test_the_tasks_come_in_their_order_with_kind_classes_metric_and_columns():
    assert [(t.name, t.kind, t.classes, t.metric, *t.sentences, t.label, t.is_pair) for t in TASKS.values()] == [
        ("sst", "classes", 5, "accuracy", "sentence", "sentiment", False),
        ("qqp", "binary", 2, "accuracy", "sentence1", "sentence2", "is_duplicate", True),
        ("sts", "score", 1, "pearson", "sentence1", "sentence2", "similarity", True),
        ("cfimdb", "binary", 2, "accuracy", "sentence", "sentiment", False),
        ("snli", "classes", 3, "accuracy", "sentence1", "sentence2", "gold_label", True),
        ("mnli", "classes", 3, "accuracy", "sentence1", "sentence2", "gold_label", True),
    ]
    assert (TASKS["sts"].lowest, TASKS["sts"].highest) == (0.0, 5.0)
    words = {"contradiction": 0, "neutral": 1, "entailment": 2}
    assert (TASKS["snli"].labels, TASKS["mnli"].labels) == (words, words)


def test_column_titles_of_the_courses_submission_files():
    assert {name: t.submission for name, t in TASKS.items() if t.submission} == {
        "sst": "Predicted_Sentiment",
        "qqp": "Predicted_Is_Paraphrase",
        "sts": "Predicted_Similiary",  # the course's own spelling
        "cfimdb": "Predicted_Sentiment",
    }


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("mood", {"metrics": "f1"}, "metrics"),
        ("mood", {"classes": 3}, "classes is 3"),
        ("mood", {"metric": "pearson"}, "metric pearson"),
        ("mood", {"reader": "csv"}, "reader: "),
        ("mood", {"files": {"train": "a"}}, "files"),
        ("mood", {"files": {"train": "../a", "dev": "b"}}, "below the data directory"),
        ("mood", {"sentences": []}, "sentences"),
        ("mood", {"labels": {"bad": 0, "good": 2}}, "labels"),
        ("mood", {"reused": {"x": {"serves": "sst"}}}, "labels: "),
        ("mood", {"reused": []}, "dictionary"),
        ("a-b", {}, "named of"),
    ],
)
def test_a_file_that_is_no_task_is_refused_by_name(tmp_path: Path, name: str, change: dict[str, Any], told: str):
    files.write_yaml(tmp_path / f"{name}.yaml", MOOD | change)
    with pytest.raises(MtbertError, match=rf"{name}\.yaml: .*") as error:
        tasks.load(tmp_path)
    assert told in str(error.value)


def test_a_data_set_of_the_hub_is_read_without_ids_and_with_numbers_for_labels(tmp_path: Path):
    files.write_yaml(tmp_path / "mood.yaml", MOOD)
    (task,) = tasks.load(tmp_path)[0].values()
    (tmp_path / "mood").mkdir()
    table = pd.DataFrame({"text": ["nice .", None, "dull ."], "label": [1, 1, 0], "more": ["a", "b", "c"]})
    table.to_parquet(tmp_path / "mood/train.parquet")
    kept = readers.read(tmp_path, task, "train")
    assert kept[["id", "sentence1", "label", "line"]].values.tolist() == [
        ["1", "nice .", 1.0, 1],
        ["3", "dull .", 0.0, 3],
    ]
    (tmp_path / "mood/dev.parquet").write_bytes(b"PAR1")
    with pytest.raises(MtbertError, match=r"dev\.parquet: not a whole Parquet file"):
        readers.read(tmp_path, task, "dev")
