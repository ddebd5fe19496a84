"""Folds for small tasks: a fifth of few rows is too small a dev, so each row is predicted, by a model of other rows."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mtbert import files, tasks
from mtbert.data import drawing, readers
from mtbert.errors import DataError, first_of
from mtbert.study import understanding
from mtbert.tasks import Task

FOLDS = 5
FEW = 300  # labelled rows, below which a task without dev has folds
MOST_NAMED = 5  # files in a line


def add(file: Path, tasks_by_name: Mapping[str, Task], new: Collection[str], most_refused: float) -> list[str]:
    """Write `folds` into tasks.yaml for new tasks that draw dev from few rows; return a line about them.

    Tasks of one file have folds together: if only some of them have few rows, or the rows cannot be divided, the file
    keeps one dev, and a line says why.
    """
    folds = tasks.number_of_folds(tasks_by_name) or FOLDS
    drawing_by_file: dict[str, list[Task]] = {}
    for task in tasks_by_name.values():
        if task.draws_dev:
            drawing_by_file.setdefault(task.files["train"], []).append(task)
    lines: list[str] = []
    divided: list[str] = []  # files
    for name, of_file in drawing_by_file.items():
        if not {task.name for task in of_file} <= {*new}:
            continue
        few = _with_few_rows(file.parent, of_file)
        if len(few) < len(of_file):
            lines += [_beside_tasks_of_more_rows(name, task, rows, folds) for task, rows in few.items()]
            continue
        try:
            _check(file.parent, tasks_by_name, of_file, folds, most_refused)
        except DataError as error:
            lines.append(f"{name}: fewer than {FEW} labelled rows, which cannot be {folds} folds: {error}")
            continue
        files.edit_yaml(file, {f"{task.name}.folds": folds for task in of_file})
        divided.append(name)
    if divided:
        lines.append(
            f"{first_of(divided, MOST_NAMED)}: fewer than {FEW} labelled rows, so tasks.yaml says `folds: {folds}`; "
            f"{folds} seeds make a repeat, each with another fold as dev; to have one dev, delete `folds` there"
        )
    return lines


def _with_few_rows(folder: Path, of_file: Sequence[Task]) -> dict[str, int]:
    """Return the names of a file's tasks with fewer than FEW labelled rows, and how many each has."""
    counts = {task.name: len(readers.read(folder, task, "train")[0]) for task in of_file}
    return {name: count for name, count in counts.items() if count < FEW}


def _beside_tasks_of_more_rows(file: str, task: str, rows: int, folds: int) -> str:
    """Return a line about a task of few rows whose file has a task of more: folds would be of both."""
    remedy = f"to have each of them predicted, write `folds: {folds}` to every task of this file"
    return f"{file}: {task} has {rows} labelled rows alone, so its dev is small; {remedy}"


def _check(
    folder: Path, tasks_by_name: Mapping[str, Task], of_file: Sequence[Task], folds: int, most_refused: float
) -> None:
    """Raise DataError where the rows of a file cannot be folds of its tasks."""
    with_folds = {task.name: replace(task, folds=folds) for task in of_file}
    splits = drawing.Splits(folder, {**tasks_by_name, **with_folds})
    for task in with_folds.values():
        understanding.understand(splits, task, is_new=True, most_refused=most_refused)


def in_repeats(seeds: int, folds: int) -> int:
    """Return the number of seeds that makes whole repeats: at least `seeds`; without folds just so many."""
    return folds * math.ceil(seeds / folds) if folds else seeds
