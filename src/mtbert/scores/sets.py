"""Sets of labels as numbers: the label of a row that has several, or none.

Formula: the set of labels i has the number sum 2^i, so that 0 is the set without labels. A float64 has the numbers of
all sets of up to 53 labels exactly.

What it is for: what hands labels on, compares, counts, stores or pairs them takes a set as it takes a class, as one
number a row. Only what looks into a set reads this module.
"""

import json
from collections.abc import Iterable, Sequence

import numpy as np

from mtbert.tasks import Task


def number_of(labels: Iterable[int]) -> float:
    """Return the number of a set of labels, each of which comes once."""
    return float(sum(1 << label for label in labels))


def numbers_of(members: np.ndarray) -> np.ndarray:
    """Return the number of each row's set, float64 [rows], of whether the row has each label, bool [rows, labels]."""
    return members.astype(np.float64) @ 2.0 ** np.arange(members.shape[1])


def members_of(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return whether each row has each of `count` labels, bool [rows, count]."""
    return (np.asarray(numbers).astype(np.int64)[:, None] >> np.arange(count)) & 1 > 0


def names_in(task: Task, number: float) -> list[str]:
    """Return the names of the labels in a set, in the order of the task's."""
    return _chosen(task.class_names, number)


def in_words(task: Task, number: float) -> str:
    """Return a set as the task's files write it: with what parts their labels, else as a JSON list."""
    return as_text(task, _chosen(task.class_labels, number))


def _chosen(words: Sequence[str], number: float) -> list[str]:
    """Return those words, one for each label of a task, whose labels are in a set."""
    (members,) = members_of(np.array([number]), len(words))
    return [word for word, is_member in zip(words, members, strict=True) if is_member]


def as_text(task: Task, names: list[str]) -> str:
    """Return names of labels as the task's files part labels, else as a JSON list."""
    return task.separator.join(names) if task.separator else json.dumps(names, ensure_ascii=False)
