"""Read the set of labels of a row: a JSON list, a text of several parts, or a 0/1 column for each label."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mtbert.errors import DataError, shorten
from mtbert.scores import sets
from mtbert.tasks import Task, label_text

INDICATORS = {"0": False, "1": True, "false": False, "true": True}


class Reading(NamedTuple):
    """What a row says of its labels.

    Attributes:
        number: of its set of labels; None where there is a fault.
        fault: why they cannot be read.
        label: one that the task has not.
    """

    number: float | None
    fault: str = ""
    label: str = ""


def value_of(task: Task, row: Mapping[str, Any]) -> Any:
    """Return the label cell; for 0/1 columns, the cells that are not empty, by column, or None."""
    if not task.columns:
        return row.get(task.label)
    cells = {column: row[column] for column in task.columns if label_text(row.get(column))}
    return cells or None


def read(task: Task, value: Any) -> Reading:
    """Read what `value_of` returned."""
    return _of_columns(task, value or {}) if task.columns else read_cell(task, value)


def read_cell(task: Task, value: Any) -> Reading:
    """Read a list, or a text of several parts."""
    try:
        labels = parts(value, task.separator)
    except DataError as error:
        return Reading(None, f"its {task.label} is {error}")
    if unknown := [label for label in labels if _class_of(task, label) is None]:
        return Reading(None, f"its {task.label} holds {unknown[0]!r}", unknown[0])
    classes = [_class_of(task, label) for label in labels]
    if len({*classes}) < len(classes):
        return Reading(None, f"its {task.label} names a label twice: {shorten(value)}")
    return Reading(sets.number_of(number for number in classes if number is not None))


def _class_of(task: Task, label: str) -> int | None:
    """Return the number of a label; None where the task has none such."""
    numbers = task.labels or {str(number): number for number in range(task.classes)}
    return numbers.get(label)


def _of_columns(task: Task, cells: Mapping[str, Any]) -> Reading:
    members: list[int] = []
    for number, column in enumerate(task.columns):
        text = label_text(cells.get(column))
        if text not in INDICATORS:
            return Reading(None, f"its {column} is {text or 'missing'}; allowed: 0 or 1")
        if INDICATORS[text]:
            members.append(number)
    return Reading(sets.number_of(members))


def parts(value: Any, separator: str) -> list[str]:
    """Return the labels in a cell, as text; a separator may also stand behind the last label, as forms write it.

    Raises:
        DataError: it is neither a list nor such a text; the message says what it is, and what is allowed.
    """
    if isinstance(value, str) and separator:
        labels = [label_text(part) for part in value.split(separator)] if value.strip() else []
        if len(labels) > 1 and not labels[-1]:
            labels.pop()
        if "" in labels:
            raise DataError(f"{shorten(value)}, of which a part is empty; allowed: labels with {separator!r} between")
        return labels
    items = _list(value) if isinstance(value, str) else value
    if items is None and not separator:
        raise DataError("missing; of a row without labels it is []")
    if items is None:
        return []
    if not isinstance(items, list) or any(isinstance(item, list | dict) or not label_text(item) for item in items):
        allowed = 'a list such as ["A", "B"]'
        allowed = f"labels with {separator!r} between, or {allowed}" if separator else f"{allowed}, or set `separator`"
        raise DataError(f"{shorten(value)}; allowed: {allowed}")
    return [label_text(item) for item in items]


def _list(text: str) -> Any:
    """Return the JSON of a text; None where it is empty, and the text where it is no JSON."""
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        return text


def labels_of(task: Task, numbers: Sequence[float]) -> set[str]:
    """Return the labels that any of these sets holds, as the task's files write them."""
    return {label for label, count in zip(task.class_labels, counts(task, numbers), strict=True) if count}


def in_all(task: Task, numbers: Sequence[float]) -> list[str]:
    """Return the labels that all of these sets hold, so that no model can be told from another by them."""
    return [
        label for label, count in zip(task.class_labels, counts(task, numbers), strict=True) if count == len(numbers)
    ]


def counts(task: Task, numbers: Sequence[float]) -> list[int]:
    """Return how many of these sets hold each label."""
    return sets.members_of(np.array([*numbers]), task.classes).sum(axis=0).tolist()
