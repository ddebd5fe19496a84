"""Guess a task from its train: the columns of its sentences and of its label, and the kind of label.

What cannot be guessed is asked. The order of columns decides nothing.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert.data import labels as labelling
from mtbert.data import readers
from mtbert.data.labels import ASKED, NUMBER, SCORES, SEVERAL, TASK_OF_EACH, Question
from mtbert.data.records import repeats_header
from mtbert.errors import DataError, first_of
from mtbert.study import naming
from mtbert.tasks import FILE, Task, label_text

LABELS = ("label", "gold_label")  # the label's column has such a name, else the task's, else one of OTHER_LABELS
OF_PAIRS = (*SCORES, "is_duplicate")  # beside a pair of sentences, the only one of OTHER_LABELS is surely the label
OTHER_LABELS = ("class", "category", "target", *OF_PAIRS)
IDS = ("", "id", "idx", "index", "guid", "pairid", "unnamed: 0")
PAIRS = (("sentence1", "sentence2"), ("question1", "question2"), ("premise", "hypothesis"), ("text", "text_pair"))
SAMPLED = 2000  # rows that decide what a column holds
FEW = 20  # values of a column of labels, if it has no label's name, and of whole numbers that surely are classes
MOST_CLASSES = 200
HEADED = (".csv", ".tsv")
WHOLE = re.compile(r"-?[0-9]+")
COLUMNS_TO_WRITE = (
    "Write the label's here, and the one or two of text at `sentences`, such as [text]. If it is the file "
    "of no task, write `ignore: [FILE]` in place of these lines"
)
Entry = dict[str, Any]  # a task as tasks.yaml has it
Records = Sequence[Mapping[str, Any]]  # a file's rows, by column


class DoubtError(Exception):
    """Only the user knows a column.

    Attributes:
        key: of tasks.yaml, whose value is the answer.
        text: why it is in doubt, and what to write.
    """

    def __init__(self, key: str, text: str) -> None:
        self.key, self.text = key, text


def describe(folder: Path, name: str, entry: Entry, encoding: str) -> tuple[Entry, Question | None]:
    """Return a task as tasks.yaml has it, with what its train tells; and what to ask of it, if anything.

    Args:
        folder: that of the files.
        name: the task's.
        entry: its files, and what is known of its columns: `sentences` and `label`.
        encoding: of its text files.

    Raises:
        DataError: its train is not there, holds no row, or labels that are wrong as they are written.
    """
    files = entry["files"]
    file = folder / _train(folder, name, files)
    rows = [row.values for row in readers.rows_of(file, encoding, name) if not repeats_header(row.values)]
    if not rows:
        raise DataError(f"{file}: it holds no row")
    columns = [*dict.fromkeys(column for row in rows for column in row)]  # in JSON lines, each row has its own
    try:
        entry, question = _with_labels(file, name, entry, rows, columns)
    except DoubtError as doubt:
        blanks = {"sentences": ASKED, "label": ASKED} if doubt.key == "label" else {"sentences": ASKED}
        text = f"its columns are {', '.join(columns)}, and {doubt.text}"
        return entry | blanks, Question(doubt.key, text, ())
    entry |= {"encoding": encoding} if encoding != "utf-8" else {}
    others = [folder / other for split, other in files.items() if split != "train"]
    if "id" not in entry and (column := _id(name, columns, rows, others, encoding)):
        entry["id"] = column
    return entry, question


def _train(folder: Path, name: str, files: naming.FilesOfTask) -> str:
    """Return a task's train; DataError where it has none."""
    if "train" in files:
        return files["train"]
    fault = f"{name} has {first_of([*files.values()], 3)}, but no train"
    remedy = f"add {name}-train.csv, or rename it like the train of its task"
    raise DataError(f"{folder}: {fault}; {remedy}{naming.other_name(folder, name, files)}")


def _with_labels(
    file: Path, name: str, entry: Entry, rows: Records, columns: Sequence[str]
) -> tuple[Entry, Question | None]:
    """Return a task with its columns and its classes or score, and what to ask of its labels.

    DoubtError where a column cannot be told. A label that the entry names may have any number of classes.
    """
    is_named = "label" in entry
    label = entry["label"] if is_named else _label(name, rows, columns)
    if label not in columns:
        raise DataError(f"{file}: it has no column {label}, which {FILE} calls the label; it has {', '.join(columns)}")
    entry = entry | {"sentences": entry.get("sentences") or _sentences(rows, columns, label), "label": label}
    labels = _labels(file, rows, label)
    if not is_named and _looks_like_a_row(file, name, entry["sentences"], label, labels):
        fault = f"line 1 looks like a row, not a header: the column of the label would be called {label}"
        remedy = f"if line 1 is the header, describe it in {FILE}; if not, write one above it, such as text,label"
        raise DataError(f"{file}: {fault}; {remedy}")
    question = labelling.question(label, labels)
    kind = _kind(file, label, labels, question, len(labels) if is_named else MOST_CLASSES)
    return entry | kind | _names(file, label, labels), question


def _label(name: str, rows: Records, columns: Sequence[str]) -> str:
    """Return the column of the label: by its name, or the only one with few values; DoubtError where neither helps.

    A column that is called like the task may be its text, such as `review`.
    """
    columns = [column for column in columns if column.casefold() not in IDS]
    called_like_task = [column for column in _called(columns, [name]) if not _is_the_text(rows, columns, column)]
    surely = [*_called(columns, LABELS), *called_like_task]
    if surely:
        return surely[0]
    probably = _called(columns, OTHER_LABELS)
    if _pair(columns) and len(probably) == 1 and _called(probably, OF_PAIRS):
        return probably[0]
    candidates = [column for column in columns if not _is_text(rows, column) and not _counts_rows(rows, column)]
    if probably:
        others = [column for column in candidates if column not in (probably[0], *_pair(columns))]
        rivals = [column for column in others if _may_be_the_label(rows, column, probably[0])]
        candidates = [probably[0], *rivals]
    if len(candidates) != 1:
        shown = f" (it may be {first_of(candidates, 3)})" if candidates else ""
        raise DoubtError("label", f"which of them is the label cannot be told{shown}. {COLUMNS_TO_WRITE}")
    return candidates[0]


def _may_be_the_label(rows: Records, column: str, named: str) -> bool:
    """Return whether a column of few values may be the label, though another is called so."""
    values = {label_text(row.get(column)) for row in rows}
    has_many_numbers = len(values) > MOST_CLASSES and all(map(_is_number, values))
    return len(values) > 1 and not has_many_numbers and not _repeats(rows, column, named)


def _called(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns of such names, in the order of names."""
    return [column for name in names for column in columns if column.casefold() == name]


def _labels(file: Path, rows: Records, label: str) -> set[str]:
    """Return a file's labels; DataError where rows have several each."""
    values = [row.get(label) for row in rows]
    if several := sorted(label_text(value) for value in values if _holds_several(value)):
        shown = f"{file}: its {label} holds {several[0]}"
        if several[0].startswith("{"):
            raise DataError(f"{shown}, an object; write the label alone in its place, as a word or a number")
        raise DataError(f"{shown}, several labels a row; {TASK_OF_EACH}")
    return {*map(label_text, values)} - {""}


def _holds_several(value: object) -> bool:
    """Return whether a value is a list or an object, or text that is written like one."""
    return isinstance(value, list | dict) or bool(isinstance(value, str) and SEVERAL.fullmatch(value.strip()))


def _looks_like_a_row(file: Path, name: str, sentences: Sequence[str], label: str, labels: set[str]) -> bool:
    """Return whether a header seems to be a row: the label's column is a number, or a class beside several words.

    A column may be called like one of its classes, such as `spam`.
    """
    if readers.ending(file) not in HEADED:
        return False
    if _is_number(label):
        return True
    is_a_name = label.casefold() in (name, *LABELS, *OTHER_LABELS)
    return label_text(label) in labels and not is_a_name and any(len(column.split()) > 1 for column in sentences)


def _pair(columns: Sequence[str]) -> list[str]:
    """Return two columns that are called like a pair of sentences; none where there are no such two."""
    return next(([*pair] for pair in PAIRS if {*pair} <= {*columns}), [])


def _sentences(rows: Records, columns: Sequence[str], label: str) -> list[str]:
    """Return the column of text, or two that are called like a pair; DoubtError where there is none, or more."""
    columns = [column for column in columns if column != label and column.casefold() not in IDS]
    if pair := _pair(columns):
        return pair
    texts = [column for column in columns if _is_text(rows, column) and not _repeats(rows, column, label)]
    if not texts:
        texts = columns  # a handful of rows has few values in each
    if len(texts) != 1:
        raise DoubtError(
            "sentences", "which of them are the one or two of text cannot be told. Write them here, such as [text]"
        )
    return texts


def _repeats(rows: Records, column: str, label: str) -> bool:
    """Return whether a column is the label in other words: each of its values goes with one label, and the reverse."""
    pairs = {(str(row.get(column)), label_text(row.get(label))) for row in rows}
    values, labels = ({*side} for side in zip(*pairs, strict=True))
    return len(pairs) == len(values) == len(labels) <= min(MOST_CLASSES, len(rows) / 2)


def _is_text(rows: Records, column: str, few: int = FEW) -> bool:
    """Return whether a column holds text: words, and more than a few of them."""
    values = [str(row.get(column)) for row in rows[:SAMPLED]]
    distinct = {*values}
    return len(distinct) > min(few, len(values) / 2) and not all(map(_is_number, distinct))


def _is_the_text(rows: Records, columns: Sequence[str], column: str) -> bool:
    """Return whether a column holds text: many words, or words of more kinds than each other column holds."""
    if _is_text(rows, column, MOST_CLASSES):
        return True
    distinct = {other: {str(row.get(other)) for row in rows} for other in columns}
    others = [len(values) for other, values in distinct.items() if other != column]
    has_most = max(others, default=len(rows)) < len(distinct[column])
    return has_most and not all(map(_is_number, distinct[column]))


def _counts_rows(rows: Records, column: str) -> bool:
    """Return whether a column holds another whole number in each row, as a count of rows or an id does."""
    values = [label_text(row.get(column)) for row in rows]
    return len({*values}) == len(values) and all(WHOLE.fullmatch(value) for value in values)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _kind(file: Path, label: str, labels: set[str], question: Question | None, most: int) -> dict[str, Any]:
    """Return the entries of tasks.yaml about a task's labels: a score's range, or the classes in order, and a metric.

    What is asked has ASKED.

    DataError where they are neither, DoubtError where they are more classes than `most`.
    """
    shown = f"{file}: its {label} holds"
    if len(labels) < 2:
        raise DataError(f"{shown} {', '.join(labels) or 'nothing'}; allowed: two labels or more")
    if why := labelling.fault(label, labels):
        raise DataError(f"{shown} {why}, or list its `classes` in {FILE}")
    if question and question.key == "classes":
        return {"classes": ASKED} | ({"metric": "f1"} if len(labels) > 2 else {})
    doubted = question.doubted if question else ()
    numbers = sorted((label for label in labels if _is_number_here(label)), key=float)
    words = sorted(labels.difference(numbers))
    scores = [float(number) for number in numbers if number not in doubted]
    if {*words} <= {*doubted} and _are_scores(label, scores):
        score = {"score": [math.floor(scores[0]), math.ceil(scores[-1])]}
        return score | ({"left_out": ASKED} if doubted else {})
    numbers = [number for number in numbers if NUMBER.fullmatch(number)]
    words = sorted(labels.difference(numbers))
    if words and len(numbers) > labelling.FEW:
        remedy = f"correct it, or say in {FILE} its `classes`, or its `score` and what is `left_out`"
        raise DataError(f"{shown} numbers such as {min(numbers)}, and {words[0]!r}; {remedy}")
    if len(labels) > most:
        raise DoubtError("label", f"{label} holds {len(labels):,} words. {COLUMNS_TO_WRITE}")
    entry: dict[str, Any] = {"classes": [*map(_in_yaml, sorted(labels))] if words else [*map(_whole, numbers)]}
    if len(labels) > 2:
        entry["metric"] = "f1"
    return entry


def _names(file: Path, label: str, labels: set[str]) -> dict[str, Any]:
    """Return the entries of classes that a Parquet file names: all of them, and -1 left out, as `datasets` does."""
    names = readers.class_names(file, label) if readers.ending(file) == ".parquet" else []
    numbers = [str(number) for number in range(len(names))]
    if len(names) < 2 or not labels <= {*numbers, "-1"}:
        return {}
    left_out = {"left_out": [-1]} if "-1" in labels else {}
    return {"classes": [*range(len(names))], "names": names} | left_out


def _is_number_here(label: str) -> bool:
    """Return whether a label may be a score: a number, with or without a sign."""
    return bool(NUMBER.fullmatch(label.removeprefix("+"))) and _is_number(label)


def _are_scores(label: str, numbers: list[float]) -> bool:
    """Return whether labels that are numbers, in their order, are scores, not classes."""
    if label.casefold() in SCORES or not all(number.is_integer() for number in numbers):
        return True
    has_gap = len(numbers) <= numbers[-1] - numbers[0]
    return len(numbers) > MOST_CLASSES or (len(numbers) > FEW and has_gap)


def doubt(task: Task, labels: set[float]) -> str:
    """Return what to check of a guessed task whose labels are many whole numbers; empty where nothing is in doubt."""
    if task.label.casefold() in SCORES or not FEW < len(labels) <= MOST_CLASSES:
        return ""
    shown = f"its {task.label} holds {len(labels)} whole numbers, which are taken for"
    if task.kind == "score":
        is_whole = all(label.is_integer() for label in labels)
        return f"{shown} a score; if they are classes, write `classes` in place of `score`" if is_whole else ""
    numbers = [*filter(NUMBER.fullmatch, task.class_labels)]
    if len(numbers) < task.classes:
        return ""
    score = f"`score: [{numbers[0]}, {numbers[-1]}]`"
    return f"{shown} classes; if they are a score, write {score} in place of `classes` and `metric`"


def _whole(number: str) -> int | str:
    """Return a number that is a class as YAML has it, such as 1, but `1.00` as it is."""
    return int(number) if label_text(float(number)) == number else number


def _in_yaml(word: str) -> str | bool:
    """Return a label as YAML has it."""
    return word == "true" if word in ("true", "false") else word


def _id(name: str, columns: Sequence[str], rows: Records, others: Sequence[Path], encoding: str) -> str | None:
    """Return the column of ids: the first of such a name that all files have, with another value in each row of a file.

    Args:
        name: the task's.
        columns: those of train.
        rows: those of train.
        others: the files of dev and test.
        encoding: theirs.
    """
    called_so = [column for column in columns if column.casefold() in IDS[1:]]
    rows_by_file = [rows]
    for file in others if called_so else ():
        rows_by_file.append([row.values for row in readers.rows_of(file, encoding, name)])
    for column in called_so:
        if all(_are_ids([row.get(column) for row in of_file]) for of_file in rows_by_file):
            return column
    return None


def _are_ids(values: Sequence[Any]) -> bool:
    """Return whether values are text or whole numbers, and none comes twice."""
    texts = [str(value) if isinstance(value, int) else value for value in values]
    return len({*map(str, texts)}) == len(texts) and not any(readers.fault_of_text("id", text) for text in texts)
