"""Two files of several labels a row."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from sklearn.metrics import f1_score

from mtbert import files
from mtbert.compare import as_text, compare_files
from mtbert.errors import DataError

TASK = {"classes": 3, "sentences": ["text"], "label": "moods", "labels": {"joy": 0, "anger": 1, "fear": 2}}
GOLD = [["joy"], ["joy", "fear"], [], ["anger"], ["fear"], ["anger"], ["joy"], []]
OURS = [["joy"], ["joy", "fear"], [], ["anger"], ["joy"], [], ["joy", "anger"], []]
THEIRS = [["joy"]] * 8


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build folder whose task has labels parted by a semicolon."""
    moods = TASK | {"metric": "micro_f1", "several": True, "separator": ";"}
    files.write_yaml(tmp_path / "plan/catalog.yaml", {"tasks": {"moods": moods}})
    return tmp_path


def side(file: Path, predicted: Sequence[Sequence[str]]) -> str:
    """Write predictions as the task's files part labels; a set without labels is empty."""
    rows = {"id": range(8), "label": map(";".join, GOLD), "prediction": map(";".join, predicted)}
    pd.DataFrame({name: [*values] for name, values in rows.items()}).to_csv(file, index=False)
    return str(file)


def indicators(rows: Sequence[Sequence[str]]) -> list[list[int]]:
    return [[int(label in row) for label in TASK["labels"]] for row in rows]


@pytest.mark.parametrize(("metric", "average", "name"), [
    (None, "micro", "micro_f1 on 8 rows"), ("f1", "macro", "f1, the mean over labels, on 8 rows"),
])  # fmt: skip
def test_scores_are_scikit_learns(build: Path, metric: str | None, average: str, name: str) -> None:
    sides = side(build / "ours.csv", OURS), side(build / "theirs.csv", THEIRS)
    comparison = compare_files(*sides, task="moods", metric=metric, build=build)
    assert comparison.scores is not None
    for found, predicted in zip(comparison.scores, (OURS, THEIRS), strict=True):
        assert found.mean == pytest.approx(f1_score(indicators(GOLD), indicators(predicted), average=average))
    assert as_text(comparison).startswith(name)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"task": "moods", "metric": "accuracy"},
            "a row of moods has several labels, and metric is accuracy; allowed: m",
        ),
        (
            {"metric": "micro_f1"},
            "metric is micro_f1, of several labels a row; name such a task by --task; allowed: acc",
        ),
    ],
)
def test_a_metric_of_another_kind_is_refused(build: Path, options: dict[str, str], told: str) -> None:
    sides = side(build / "ours.csv", OURS), side(build / "theirs.csv", THEIRS)
    with pytest.raises(DataError, match=told):
        compare_files(*sides, **options, build=build)


@pytest.mark.parametrize(
    ("prediction", "told"),
    [("0", "holds '0', no label of moods; allowed: anger, fear, joy"), ("joy;joy", "holds 'joy' twice; allowed: each")],
)
def test_a_set_is_of_the_tasks_labels_each_once(build: Path, prediction: str, told: str) -> None:
    sides = side(build / "ours.csv", OURS), side(build / "theirs.csv", [[prediction]] * 8)
    with pytest.raises(DataError, match=told):
        compare_files(*sides, task="moods", build=build)


def test_a_label_that_the_task_has_not_is_refused(build: Path) -> None:
    sides = side(build / "ours.csv", OURS), side(build / "theirs.csv", [["joi"]] * 8)
    told = r"prediction of 0 \(.*theirs.csv, line 2\) holds 'joi', no label of moods; allowed: anger, fear, joy"
    with pytest.raises(DataError, match=told):
        compare_files(*sides, task="moods", build=build)
