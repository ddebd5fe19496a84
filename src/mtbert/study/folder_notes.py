"""Notes on a whole folder: its files, and what its tasks share. `understanding` has those on one task."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

from mtbert.data import checks, readers
from mtbert.data.drawing import Splits
from mtbert.errors import first_of
from mtbert.study import naming, row_notes
from mtbert.study.understanding import SHOWN, FolderTask, name_of_file
from mtbert.tasks import Split, Tasks

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def of_files(folder: Path, tasks_by_name: Tasks) -> Iterator[str]:
    """Yield what separates the columns of .csv files, and which files are not read, though they look like data."""
    yield from _separators(folder, tasks_by_name)
    yield from _files_not_read(folder, tasks_by_name)


def _files_not_read(folder: Path, tasks_by_name: Tasks) -> Iterator[str]:
    named = {PurePath(name).as_posix() for task in tasks_by_name.values() for name in task.files.values()}
    if unreadable := [name for name in naming.unreadable_files(folder) if name not in named]:
        yield f"not read: {first_of(unreadable, SHOWN)}; allowed: {', '.join(readers.ENDINGS)}"
    if deep := [name for name in naming.deep_files(folder) if name not in named]:
        yield f"not read: {first_of(deep, SHOWN)}; allowed: files in the folder, or in a folder in it"


def _separators(folder: Path, tasks_by_name: Tasks) -> Iterator[str]:
    names_by: dict[str, list[str]] = {}
    for task in tasks_by_name.values():
        for name in task.files.values():
            if readers.ending(Path(name)) == ".csv":
                names_by.setdefault(readers.separator(folder / name, task.encoding), []).append(name)
    for separator, names in names_by.items():
        yield f"separated by {SEPARATORS[separator]}: {', '.join(dict.fromkeys(names))}"


def between_tasks(splits: Splits, folder_tasks: Sequence[FolderTask]) -> Iterator[str]:
    """Yield which rows and groups of dev another task trains on: a shared model learns all tasks."""
    yield from _rows_in_other_trains(splits, folder_tasks)
    yield from _groups_in_other_trains(folder_tasks)


def _rows_in_other_trains(splits: Splits, folder_tasks: Sequence[FolderTask]) -> Iterator[str]:
    """Yield how many rows of dev and test another task trains on, and their own does not."""
    tasks = {of_task.task.name: of_task.task for of_task in folder_tasks}
    digests: dict[tuple[str, Split], Any] = {}
    for of_task in folder_tasks:
        for split, rows in of_task.rows.items():
            digests[of_task.task.name, split] = checks.digests(rows)
    for (name, split), rows in digests.items():
        if split == "train":
            continue
        is_in_own = rows["normalized"].isin(digests[name, "train"]["normalized"])
        file = name_of_file(splits, tasks[name], split)
        for other in tasks:
            of_other = digests[other, "train"]
            if other != name and (count := int((rows["normalized"].isin(of_other["normalized"]) & ~is_in_own).sum())):
                yield f"{file}: {count:,} of {len(rows):,} {split} rows of {name} are in train of {other}"


def _groups_in_other_trains(folder_tasks: Sequence[FolderTask]) -> Iterator[str]:
    """Yield whose groups of dev another task trains on, where its column has another name: they count as different."""
    groups = {
        (of_task.task.name, split): row_notes.counts_of_groups(of_task.task, rows).keys()
        for of_task in folder_tasks
        for split, rows in of_task.rows.items()
    }
    for task, other in itertools.permutations([of_task.task for of_task in folder_tasks], 2):
        of_dev = groups[task.name, "dev"]
        shared = of_dev & groups[other.name, "train"]
        if task.group_on != other.group_on and 2 * len(shared) > len(of_dev):
            of_dev_in_words = f"{len(shared):,} of {len(of_dev):,} groups of dev, by {task.group_on}"
            in_train = f"in train of {other.name}, by {other.group_on}"
            yield f"{task.name}: {of_dev_in_words}, are {in_train}; if both mean the same, call the columns alike"
