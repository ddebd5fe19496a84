"""What to do next: calibration, classes and groups in the report of one's own tasks."""

from pathlib import Path

import made
import numpy as np
import pandas as pd
import pytest

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.judge.groups import Grouping
from mtbert.report import dev_rows, markdown, next_section
from mtbert.scores.columns import CONFIDENCE, UNCALIBRATED
from mtbert.tasks import COURSE, Task

SAID = {("a", 1): {"qqp": [0.0, 1.0, 0.0, 1.0]}, ("a", 2): {"qqp": [0.0, 1.0, 1.0, 0.0]}}


def results(whose: str = "own", before: float | None = 0.99):
    """Of labels 0, 1, 1, 0: six of eight predictions are right."""
    results = made.results(SAID, data={"whose": whose})
    confidence = [0.9, 0.9, 0.6, 0.6] * 2
    results.predictions[CONFIDENCE] = np.array(confidence, np.float32)
    results.predictions[UNCALIBRATED] = np.float32(before if before else "nan")
    return results


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]


def test_tasks_that_are_not_ones_own_have_no_section():
    assert next_section.render(results("course"), None, {}) == ""


def test_the_calibration_error_before_and_after_and_what_a_threshold_answers():
    line = cells(next_section.render(results(), None, {}))[2]
    assert line[0] == "QQP"
    assert [line[1][:5], line[2][:5]] == ["0.250", "0.300"]  # seeds: 0.49 and 0.01; 0.35 and 0.25
    assert line[3:6] == ["75 %", "50 % answered, 100 % right", "50 % answered, 100 % right"]


def test_without_a_temperature_nothing_is_claimed_of_before():
    text = next_section.render(results(before=None), None, {})
    assert cells(text)[2][1] == markdown.DASH
    assert next_section.NO_TEMPERATURE in text


def test_where_nobody_kept_the_confidence_there_is_no_calibration():
    without = results()
    without.predictions[CONFIDENCE] = np.float32("nan")
    assert "When may it decide alone?" not in next_section.render(without, None, {})


def test_a_class_has_precision_recall_and_f1():
    rows = pd.DataFrame({"label": [0, 0, 0, 1], "prediction": [0, 0, 1, 1], "variant": "a", "seed": 1}, dtype=object)
    rows = rows.astype({"label": float, "prediction": float})
    assert next_section.class_lines(rows, COURSE["qqp"]) == [
        {"class": "duplicate", "taken for": "", "dev rows": "1", "precision": "0.50", "recall": "1.00", "F1": "0.67"},
        {"class": "other question", "taken for": "duplicate", "dev rows": "3", "precision": "1.00", "recall": "0.67",
         "F1": "0.80"},
    ]  # fmt: skip


def test_few_rows_tell_nothing_of_groups():
    assert next_section.WRONG + next_section.TOO_FEW in next_section.render(results(), None, {})


@pytest.mark.parametrize(
    ("text", "script"),
    [("A dog, un café", "Latin"), ("Собака ok", "Cyrillic"), ("日本 a", "Cjk"), ("123 :-)", "none"), ("", "none")],
)
def test_the_script_is_that_of_most_letters(text: str, script: str):
    assert dev_rows.script(text) == script


def test_lengths_are_thirds():
    assert dev_rows.lengths(["a", "b" * 5, "c" * 9]) == [
        "at most 1 characters",
        "2 to 5 characters",
        "more than 5 characters",
    ]
    assert dev_rows.by_text([]) == {(Grouping.LENGTH, ""): [], (Grouping.SCRIPT, ""): []}


def test_columns_of_few_values_beside_text_and_label_are_groups(tmp_path: Path):
    rows = [f"text {row},{row % 2},{'web' if row % 3 else 'phone'},{row},\n" for row in range(30)]
    (tmp_path / "dev.csv").write_text("text,topic,channel,ticket,note\n" + "".join(rows))
    task = Task("topic", 2, ("text",), "topic", "accuracy", files={"train": "train.csv", "dev": "dev.csv"})
    sentences = {line: (f"text {line - 2}",) for line in range(2, 32)}
    first = {line: sentences[line] for line in (2, 3, 5)}
    file = tmp_path / "dev.csv"
    assert dev_rows.by_column(file, task, first) == {
        (Grouping.COLUMN, "channel"): ["phone", "web", "phone"],
        (Grouping.COLUMN, "ticket"): ["0", "1", "3"],
    }
    assert [*dev_rows.by_column(file, task, sentences)] == [(Grouping.COLUMN, "channel")]
    assert dev_rows.by_column(tmp_path / "moved.csv", task, sentences) == {}


def test_columns_of_several_labels_are_no_groups(tmp_path: Path):
    (tmp_path / "dev.csv").write_text("text,joy,anger,channel\na,1,0,web\nb,0,1,phone\n")
    task = Task("moods", 2, ("text",), "joy, anger", "micro_f1", several=True, columns=("joy", "anger"))
    grouped = dev_rows.by_column(tmp_path / "dev.csv", task, {2: ("a",), 3: ("b",)})
    assert grouped == {(Grouping.COLUMN, "channel"): ["web", "phone"]}


@pytest.mark.parametrize(("text", "line"), [("text\nb\na\n", 2), ("text\na\n", 3)])
def test_columns_of_other_rows_are_refused(tmp_path: Path, text: str, line: int):
    (tmp_path / "dev.csv").write_text(text)
    task = Task("topic", 2, ("text",), "topic", "accuracy")
    with pytest.raises(DataError, match=rf"dev\.csv, line {line}: the row is another than when dev was read from this"):
        dev_rows.by_column(tmp_path / "dev.csv", task, {2: ("a",), 3: ("b",)})


def test_groups_of_held_out_rows_are_read_from_the_file_of_train(tmp_path: Path):
    topic = {"classes": 2, "sentences": ["text"], "label": "topic", "metric": "accuracy"}
    topic |= {"files": {"train": "train.csv", "dev": "dev.csv"}}
    catalog = {"tasks": {"topic": topic}, "data_dir": str(tmp_path), "held_out": 2}
    files.write_yaml(layout.plan(tmp_path), catalog)
    files.write_yaml(layout.plan(tmp_path, "preprocess"), {"splits": [["topic", "train"], ["topic", "dev"]]})
    for name, channels in (("train", "web web phone"), ("dev", "fax fax mail")):
        rows = [f"{name} {number},0,{channel}\n" for number, channel in enumerate(channels.split())]
        (tmp_path / f"{name}.csv").write_text("text,topic,channel\n" + "".join(rows))
    dev = layout.examples(layout.data(tmp_path), "topic", "dev")
    dev.parent.mkdir(parents=True)
    pd.DataFrame({"line": [2, 4], "sentence1": ["train 0", "train 2"]}).to_parquet(dev)
    assert dev_rows.groups(tmp_path)["topic"][Grouping.COLUMN, "channel"] == ["web", "phone"]
