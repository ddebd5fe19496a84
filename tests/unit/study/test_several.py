"""Tasks whose rows have several labels: what the files tell, what is asked, and what each answer comes to."""

from pathlib import Path
from typing import Any

import moods
import pytest

from mtbert import files, tasks
from mtbert.data import drawing
from mtbert.errors import DataError, SettingsError
from mtbert.study import drafting, table, understanding
from mtbert.study.understanding import FolderTask

SIZES = (60, 30)
LABELS = ["anger", "fear", "joy", "surprise"]


def study(folder: Path) -> list[FolderTask]:
    """As `mtbert study` does, but for params.yaml."""
    draft = drafting.draft(folder)
    with drafting.with_draft(folder, draft):
        described = tasks.read_folder(folder)
        splits = drawing.Splits(folder, described)
        return [understanding.understand(splits, task, task.name in draft.tasks, 0.01) for task in described.values()]


def answer(folder: Path, **values: Any) -> None:
    """Answer what is asked of the task."""
    file = folder / "tasks.yaml"
    content = files.read_yaml(file, "")
    files.write_yaml(file, {"moods": content["moods"] | values})


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_lists_tell_that_rows_have_several_labels(tmp_path: Path, form: str) -> None:
    moods.write(tmp_path, form, SIZES)
    (rows,) = study(tmp_path)
    assert (rows.task.kind, rows.task.class_names, rows.task.metric) == ("sets", (*LABELS,), "micro_f1")
    line = table.in_lines([rows])
    assert "60 train, 30 dev    text    4 labels, any number a row: anger, fear, joy, surprise    micro-F1" in line
    assert any(row.label == 0 for row in rows.rows["train"])


def test_whether_a_text_holds_several_labels_is_asked_with_what_parts_them(tmp_path: Path) -> None:
    moods.write(tmp_path, "separator", SIZES)
    with pytest.raises(DataError, match="If such a row has several labels, write what parts them, ';'"):
        study(tmp_path)
    with pytest.raises(SettingsError, match="is '\\?', where `mtbert study` asks something"):
        study(tmp_path)
    answer(tmp_path, separator=";")
    (rows,) = study(tmp_path)
    assert (rows.task.kind, rows.task.class_names, rows.task.separator) == ("sets", (*LABELS,), ";")
    assert len(rows.rows["train"]) == 60  # of which some have an empty text


def test_a_joined_label_may_be_a_class_of_its_own(tmp_path: Path) -> None:
    moods.write(tmp_path, "separator", (300, 60))
    with pytest.raises(DataError, match="If it is a class of its own, write ''"):
        study(tmp_path)
    answer(tmp_path, separator="")
    with drafting.with_draft(tmp_path, drafting.draft(tmp_path)):
        pass
    task = tasks.read_folder(tmp_path)["moods"]
    assert task.kind == "classes"
    assert "anger;fear" in task.class_names


def test_whether_columns_of_0_and_1_are_one_task_is_asked(tmp_path: Path) -> None:
    moods.write(tmp_path, "columns", SIZES)
    with pytest.raises(DataError, match=r"joy, anger, fear, surprise hold 0 and 1\. If they are the labels of one t"):
        study(tmp_path)
    answer(tmp_path, several=True)
    (rows,) = study(tmp_path)
    assert (rows.task.kind, rows.task.columns) == ("sets", (*moods.WORDS,))


def test_two_columns_of_0_and_1_of_which_each_row_has_one_are_asked_about(tmp_path: Path) -> None:
    rows = [f"text {number},{number % 2},{1 - number % 2}\n" for number in range(40)]
    (tmp_path / "mail.csv").write_text("text,spam,work\n" + "".join(rows))
    with pytest.raises(DataError, match=r"mail\.several: mail\.csv: spam, work hold 0 and 1"):
        study(tmp_path)


def test_columns_of_0_and_1_may_be_a_task_each(tmp_path: Path) -> None:
    moods.write(tmp_path, "columns", (300, 60))
    with pytest.raises(DataError, match="If each is a task of its own, write false"):
        study(tmp_path)
    answer(tmp_path, several=False)
    assert [(rows.task.name, rows.task.kind) for rows in study(tmp_path)] == [(mood, "binary") for mood in moods.WORDS]


def test_a_label_that_no_row_has_and_one_that_every_row_has_are_named(tmp_path: Path) -> None:
    for split in ("train", "dev"):
        rows = [f"text {number},{number % 2},{int(number % 3 == 0)},0,0,1\n" for number in range(40)]
        (tmp_path / f"moods-{split}.csv").write_text("text,joy,anger,fear,awe,any\n" + "".join(rows))
    with pytest.raises(DataError, match="joy, anger, fear, awe, any hold 0 and 1"):
        study(tmp_path)
    answer(tmp_path, several=True)
    (rows,) = study(tmp_path)
    assert "moods-train.csv: no row of train has the label fear, awe" in rows.notes
    assert "moods-train.csv: every row of train has the label any" in rows.notes


def test_a_label_of_dev_that_no_row_of_train_has_is_refused(tmp_path: Path) -> None:
    for split, label in (("train", ""), ("dev", ', "fear"')):
        lines = [f'{{"text": "{split} {number}", "moods": ["{"joy" if number % 2 else "anger"}"{label}]}}\n'
                 for number in range(9)]  # fmt: skip
        (tmp_path / f"moods-{split}.jsonl").write_text("".join(lines))
    (tmp_path / "tasks.yaml").write_text(
        "moods:\n  files: {train: moods-train.jsonl, dev: moods-dev.jsonl}\n  sentences: [text]\n  label: moods\n"
        "  several: true\n  classes: [joy, anger, fear]\n"
    )
    with pytest.raises(DataError, match="line 1: its moods is 'fear', which no row of train has"):
        study(tmp_path)


def test_a_label_that_another_separator_joins_is_told(tmp_path: Path) -> None:
    moods.write(tmp_path, "separator", SIZES)
    file = tmp_path / "moods-train.csv"
    file.write_text(file.read_text() + 'parted otherwise,"anger,joy"\n')
    with pytest.raises(DataError, match=r"moods\.separator"):
        study(tmp_path)
    answer(tmp_path, separator=";")
    (rows,) = study(tmp_path)
    told = (
        "moods-train.csv: 'anger,joy' is one label, though 'anger' and 'joy' are labels, or parts of others; if its "
        "rows have both, write them in the file as other rows are written"
    )
    assert told in rows.notes


def test_sets_that_cannot_be_read_are_refused_with_the_first_fault(tmp_path: Path) -> None:
    rows = [f"text {number},;joy;fear\n" for number in range(20)]
    (tmp_path / "moods.csv").write_text("text,moods\n" + "".join(rows))
    (tmp_path / "tasks.yaml").write_text(
        "moods: {files: {train: moods.csv}, sentences: [text], label: moods, separator: ;}\n"
    )
    with pytest.raises(DataError, match=r"moods\.csv: its moods is ';joy;fear', of which a part is empty; "):
        study(tmp_path)


def test_a_row_that_is_not_a_list_beside_lists_is_left_out_and_named(tmp_path: Path) -> None:
    lines = [f'{{"text": "text {number}", "moods": ["{LABELS[number % 2]}"]}}\n' for number in range(300)]
    (tmp_path / "moods.jsonl").write_text("".join([*lines, '{"text": "one more", "moods": "joy"}\n']))
    (rows,) = study(tmp_path)
    assert rows.task.class_names == ("anger", "fear")
    told = "moods.jsonl: 1 rows are left out; line 301: its moods is 'joy'; allowed: a list such as "
    assert any(note.startswith(told) for note in rows.notes)


def test_lists_that_are_all_empty_are_refused(tmp_path: Path) -> None:
    lines = [f'{{"text": "text {number}", "moods": []}}\n' for number in range(20)]
    (tmp_path / "moods.jsonl").write_text("".join(lines))
    with pytest.raises(DataError, match=r"moods\.jsonl: its moods holds \[\]; allowed: two labels or more"):
        study(tmp_path)


def test_more_labels_than_a_set_may_have_are_refused(tmp_path: Path) -> None:
    lines = [f'{{"text": "text {number}", "moods": ["{number}"]}}\n' for number in range(100)]
    (tmp_path / "moods-train.jsonl").write_text("".join(lines))
    with pytest.raises(DataError, match="its moods holds 100 labels, of which a row has several; allowed: at most 53;"):
        study(tmp_path)


def test_rows_of_dev_that_have_the_same_set_of_labels_are_refused(tmp_path: Path) -> None:
    (tmp_path / "moods.csv").write_text("text,joy,fear\n" + "".join(f"text {number},0,0\n" for number in range(20)))
    (tmp_path / "tasks.yaml").write_text(
        "moods: {files: {train: moods.csv}, sentences: [text], label: [joy, fear], several: true}\n"
    )
    with pytest.raises(DataError, match="all rows of dev have the same set of labels in joy, fear, so no score can"):
        study(tmp_path)
