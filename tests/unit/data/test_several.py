"""Rows with several labels, in each form that people have, and what is wrong with them."""

import json
from pathlib import Path

import pytest

from mtbert import tasks
from mtbert.data import readers
from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError

ENTRY = "moods:\n  files: {{train: {file}}}\n  sentences: [text]\n  {rest}\n"
LISTS = "label: moods\n  several: true\n  classes: [joy, anger, fear]"
PARTED = "label: moods\n  separator: ;\n  classes: [joy, anger, fear]"
COLUMNS = "label: [joy, anger, fear]\n  several: true"


def read(folder: Path, file: str, content: str, rest: str) -> tuple[list[float | None], list[str]]:
    """The number of each row's set, and why rows are refused."""
    (folder / file).write_text(content)
    (folder / "tasks.yaml").write_text(ENTRY.format(file=file, rest=rest))
    examples, refusals = readers.read(folder, tasks.read_folder(folder)["moods"], "train")
    return [example.label for example in examples], [refusal.reason for refusal in refusals]


def lines(*values: object) -> str:
    return "".join(json.dumps({"text": f"row {number}", "moods": value}) + "\n" for number, value in enumerate(values))


@pytest.mark.parametrize(
    ("file", "content", "rest"),
    [
        ("a.jsonl", lines(["joy", "fear"], [], ["anger"]), LISTS),
        ("a.csv", 'text,moods\nx,"[""fear"", ""joy""]"\ny,[]\nz,"[""anger""]"\n', LISTS),
        ("a.csv", "text,moods\nx,joy; fear\ny,\nz,anger\n", PARTED),
        ("a.csv", "text,moods\nx,joy;fear;\ny,\nz,anger; \n", PARTED),  # as forms write it
        ("a.csv", "text,joy,anger,fear\nx,1,0,1\ny,0,0,0\nz,0.0,1.0,false\n", COLUMNS),
        (
            "a.csv", "text,j,a,f\nx,1,0,1\ny,0,0,0\nz,0,1,0\n",
            "label: {joy: j, anger: a, fear: f}\n  several: true",
        ),
        ("a.jsonl", lines([0, 2], [], [1]), "label: moods\n  several: true\n  classes: 3"),
    ],
)  # fmt: skip
def test_a_row_has_a_set_of_labels_and_may_have_none(tmp_path: Path, file: str, content: str, rest: str) -> None:
    assert read(tmp_path, file, content, rest) == ([5.0, 0.0, 2.0], [])


@pytest.mark.parametrize(
    ("file", "content", "rest", "reason"),
    [
        ("a.jsonl", lines(["joi"], []), LISTS, "its moods holds 'joi'; allowed: joy, anger, fear"),
        ("a.jsonl", lines(["Joy"], []), LISTS, "its moods holds 'Joy'; allowed: joy, anger, fear; it differs from "),
        ("a.jsonl", lines(["joy", "joy"], []), LISTS, "its moods names a label twice: ['joy', 'joy']"),
        ("a.jsonl", lines(None, []), LISTS, "its moods is missing; of a row without labels it is []"),
        ("a.jsonl", lines("joy", []), LISTS, "its moods is 'joy'; allowed: a list such as [\"A\", \"B\"], or set `sep"),
        ("a.jsonl", lines(["joy", None], []), LISTS, "its moods is ['joy', None]; allowed: a list such as"),
        ("a.jsonl", lines({"joy": 1}, []), LISTS, "its moods is {'joy': 1}; allowed: a list such as"),
        ("a.csv", "text,moods\nx,joy;;fear\ny,\n", PARTED, "is 'joy;;fear', of which a part is empty; allowed: label"),
        ("a.csv", "text,moods\nx,;joy\ny,\n", PARTED, "its moods is ';joy', of which a part is empty; allowed: labels"),
        ("a.csv", "text,moods\nx,;\ny,\n", PARTED, "its moods is ';', of which a part is empty; allowed: labels with"),
        ("a.csv", 'text,moods\nx,"joy,fear"\ny,\n', PARTED, "its moods holds 'joy,fear'; allowed: joy, anger, fear"),
        ("a.csv", "text,joy,anger,fear\nx,1,,1\ny,0,0,0\n", COLUMNS, "its anger is missing; allowed: 0 or 1"),
        ("a.csv", "text,joy,anger,fear\nx,1,2,1\ny,0,0,0\n", COLUMNS, "its anger is 2; allowed: 0 or 1"),
        ("a.csv", "text,joy,anger,fear\nx,1,-1,1\ny,0,0,0\n", COLUMNS, "its anger is -1; allowed: 0 or 1"),
        ("a.csv", "text,joy,anger,fear\nx,-1,-1,-1\ny,0,0,0\n", COLUMNS, "its joy is -1; allowed: 0 or 1"),
    ],
)  # fmt: skip
def test_what_is_no_set_of_the_labels_is_refused_by_name(
    tmp_path: Path, file: str, content: str, rest: str, reason: str
) -> None:
    labels, (refused,) = read(tmp_path, file, content, rest)
    assert labels == [0.0]
    assert reason in refused


def test_a_file_that_lacks_a_column_of_a_label_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="needs the columns text, joy, anger, fear; missing: fear"):
        read(tmp_path, "a.csv", "text,joy,anger\nx,1,0\n", COLUMNS)


@pytest.mark.parametrize(("cells", "labels"), [(["", "joy"], [0.0, 1.0]), (["", ""], [None, None])])
def test_a_test_file_is_without_labels_only_if_no_row_has_one(
    tmp_path: Path, cells: list[str], labels: list[float | None]
) -> None:
    (tmp_path / "a.csv").write_text("text,moods\nx,joy\n")
    (tmp_path / "t.csv").write_text("text,moods\n" + "".join(f"x{cell},{cell}\n" for cell in cells))
    rest = f"{PARTED}\n"
    (tmp_path / "tasks.yaml").write_text(ENTRY.format(file="a.csv, test: t.csv", rest=rest))
    examples, _ = readers.read(tmp_path, tasks.read_folder(tmp_path)["moods"], "test")
    assert [example.label for example in examples] == labels


@pytest.mark.parametrize("nothing", ["", "-1"])
def test_a_test_file_of_columns_is_without_labels_if_all_are_empty_or_withheld(tmp_path: Path, nothing: str) -> None:
    (tmp_path / "t.csv").write_text(f"text,joy,anger,fear\nx,{nothing},{nothing},{nothing}\n")
    (tmp_path / "tasks.yaml").write_text(ENTRY.format(file="a.csv, test: t.csv", rest=COLUMNS))
    (example,), refusals = readers.read(tmp_path, tasks.read_folder(tmp_path)["moods"], "test")
    assert (example.label, refusals) == (None, [])


def test_a_batch_has_0_or_1_for_each_label_and_nan_where_labels_are_withheld(tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").write_text(ENTRY.format(file="a.jsonl", rest=LISTS))
    table = {"id": ["a", "b", "c"], "label": [5.0, 0.0, float("nan")], "tokens1": [[7], [8], [9]]}
    examples = Examples(table, tasks.read_folder(tmp_path)["moods"], "cross", SpecialTokens(1, 2, 0, 3), 8)
    labels = examples.batch([1, 0, 2]).labels
    assert labels[:2].tolist() == [[0, 0, 0], [1, 0, 1]]
    assert labels[2].isnan().all()
