"""Tell from a column of labels what tasks.yaml says of them: the classes and a metric, or the range of a score."""

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from mtbert.data import labels as labels_of
from mtbert.data import readers, several
from mtbert.data.labels import NUMBER, SCORES, SEVERAL, TASK_OF_EACH, Question
from mtbert.errors import DataError
from mtbert.study.columns import FEW, is_number
from mtbert.tasks import FILE, Task, label_text
from mtbert.tasks.reading import ASKED, MOST_IN_A_SET

MOST_CLASSES = 200  # of labels that nobody named
Entry = dict[str, Any]  # a task as tasks.yaml has it, or some keys of it


def of_labels(file: Path, column: str, labels: set[str], may_be_joined: bool) -> tuple[Entry, Question | None]:
    """Return what tasks.yaml says of labels of which a row has one, and what to ask of them; it has ASKED there.

    Args:
        file: which holds them.
        column: which holds them.
        labels: the different ones.
        may_be_joined: whether a label may be several in one text.

    Raises:
        DataError: they are neither classes nor scores as they are written.
    """
    if lists := sorted(label for label in labels if SEVERAL.fullmatch(label)):
        subject = f"{file}: its {column} holds {lists[0]}"
        if lists[0].startswith("{"):
            raise DataError(f"{subject}, an object; write the label alone in its place, as a word or a number")
        raise DataError(f"{subject}, several labels a row; {TASK_OF_EACH}")
    _check(file, column, labels)
    if names := _names(file, column, labels):
        return names | _metric(names["classes"]), None
    question = labels_of.question(column, labels, may_be_joined)
    if question and question.key == "separator":
        return {"separator": ASKED}, question
    if question and question.key == "classes":
        return {"classes": ASKED} | _metric(labels), question
    return _classes_or_score(file, column, labels, question.labels if question else ()), question


def of_sets(file: Path, column: str, cells: Sequence[object], separator: str) -> Entry:
    """Return what tasks.yaml says of labels of which a row has any number.

    Args:
        file: which holds them.
        column: which holds them.
        cells: of the column: lists, or texts with the separator.
        separator: between the labels of a text.

    Raises:
        DataError: no cell can be read, or they are no labels as they are written, or too many.
    """
    sets: list[list[str]] = []
    faults: list[DataError] = []
    for cell in cells:
        try:
            sets.append(several.parts(cell, separator))
        except DataError as fault:  # a faulty row is named where rows are counted
            faults.append(fault)
    labels = {label for of_row in sets for label in of_row}
    if faults and not labels:
        raise DataError(f"{file}: its {column} is {faults[0]}")
    if labels <= {"0", "1"} and len({*map(len, sets)}) == 1 and len(sets[0]) > 1:
        subject = f"{file}: its {column} holds [{', '.join(sets[0])}] and lists as long"
        raise DataError(f"{subject}, a yes or no to each of several labels; {TASK_OF_EACH}")
    _check(file, column, labels)
    entry = _names(file, column, labels) or {"classes": _in_order(labels)}
    if (count := len(entry["classes"])) > MOST_IN_A_SET:
        remedy = f"allowed: at most {MOST_IN_A_SET}; leave out rare ones, or make two tasks of them"
        raise DataError(f"{file}: its {column} holds {count:,} labels, of which a row has several; {remedy}")
    return entry


def _check(file: Path, column: str, labels: set[str]) -> None:
    """Raise DataError where these are fewer than two, or no labels."""
    subject = f"{file}: its {column} holds"
    if len(labels) < 2:
        raise DataError(f"{subject} {', '.join(labels) or 'nothing'}; allowed: two labels or more")
    if why := labels_of.fault(column, labels):
        raise DataError(f"{subject} {why}, or list its `classes` in {FILE}")


def _names(file: Path, column: str, labels: set[str]) -> Entry:
    """Return the classes that a Parquet file names: all of them, and -1 left out, as `datasets` does; else nothing."""
    names = readers.class_names(file, column) if readers.ending(file) == ".parquet" else []
    numbers = [str(number) for number in range(len(names))]
    if len(names) < 2 or not labels <= {*numbers, "-1"}:
        return {}
    left_out = {"left_out": [-1]} if "-1" in labels else {}
    return {"classes": [*range(len(names))], "names": names} | left_out


def _classes_or_score(file: Path, column: str, labels: set[str], no_scores: Sequence[str]) -> Entry:
    """Return a score's range, or classes and a metric; the labels `no_scores` may stand for no score."""
    scores = sorted(float(label) for label in labels if label not in no_scores and _is_score(label))
    if len(scores) + len(no_scores) == len(labels) and _are_scores(column, scores):
        score = {"score": [math.floor(scores[0]), math.ceil(scores[-1])]}
        return score | ({"left_out": ASKED} if no_scores else {})
    numbers = [label for label in labels if NUMBER.fullmatch(label) and is_number(label)]
    words = labels.difference(numbers)
    if words and len(numbers) > labels_of.FEW:
        remedy = f"correct it, or say in {FILE} its `classes`, or its `score` and what is `left_out`"
        raise DataError(f"{file}: its {column} holds numbers such as {min(numbers)}, and {min(words)!r}; {remedy}")
    return {"classes": _in_order(labels)} | _metric(labels)


def _metric(classes: Collection[object]) -> Entry:
    """Return macro-F1 for more than two classes."""
    return {"metric": "f1"} if len(classes) > 2 else {}


def _is_score(label: str) -> bool:
    """Return whether a label may be a score: a number, with or without a sign."""
    return bool(NUMBER.fullmatch(label.removeprefix("+"))) and is_number(label)


def _are_scores(column: str, numbers: Sequence[float]) -> bool:
    """Return whether labels that are numbers, in their order, are scores, not classes."""
    if column.casefold() in SCORES or not all(number.is_integer() for number in numbers):
        return True
    has_gap = len(numbers) <= numbers[-1] - numbers[0]
    return len(numbers) > MOST_CLASSES or (len(numbers) > FEW and has_gap)


def note_of_numbers(task: Task, labels: set[float]) -> str:
    """Return what to check of a drafted task whose labels are many whole numbers; empty for others."""
    if task.label.casefold() in SCORES or len(labels) <= FEW:
        return ""
    subject = f"its {task.label} holds {len(labels):,} whole numbers, which are taken for"
    if task.kind == "score":
        is_whole = all(label.is_integer() for label in labels)
        return f"{subject} a score; if they are classes, write `classes` in place of `score`" if is_whole else ""
    numbers = [*filter(NUMBER.fullmatch, task.class_labels)]
    if len(numbers) < task.classes:
        return ""
    score = f"`score: [{numbers[0]}, {numbers[-1]}]`"
    return f"{subject} classes; if they are a score, write {score} in place of `classes` and `metric`"


def _in_order(labels: set[str]) -> list[str | bool | int]:
    """Return classes as YAML has them, in the order of numbers if all are numbers."""
    if all(NUMBER.fullmatch(label) and is_number(label) for label in labels):
        return [_number(label) for label in sorted(labels, key=float)]
    return [label == "true" if label in ("true", "false") else label for label in sorted(labels)]


def _number(label: str) -> int | str:
    """Return a number as YAML has it, such as 1, but `1.00` as it is."""
    return int(label) if label_text(float(label)) == label else label
