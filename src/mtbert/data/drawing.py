"""Rows of a split; where a task has no dev file, a fifth of its train is drawn, the same in every run.

Three rules draw it. By `time_on`, dev is the latest rows. Else whole clusters are drawn, which share no sentence and no
group with any other row: a model would know part of dev. Of each class a fifth is drawn, so that a rare one is in both
splits. Within a class a hash of the sentences decides, not where a row stands, so that a sorted file, or one that
grows, does no harm. Tasks that draw from one file draw the same lines: what is dev of one is train of none.

By `folds: N` all rows are both train and dev, in N folds: each is drawn as dev is, of what those before it left, and a
training takes one fold as dev and the others as train.

By `group_on`, train has no group of dev or test, whether dev is drawn or a file: such rows are left out of train. That
holds for dev and test of each task with this column, since a shared model learns the trains of all. Groups are drawn by
a hash of the group, so that files draw about the same ones. Folds of other files: `training.assembly.take_folds`.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mtbert.data import checks, dates, readers, records, several
from mtbert.data.readers import Example, Refusal
from mtbert.errors import DataError
from mtbert.scores import sets
from mtbert.tasks import Split, Task, Tasks, label_text

SHARE = 5  # one of so many rows of train


def source(task: Task, split: Split) -> Split:
    """Return the split whose file the rows of a split come from."""
    return "train" if split == "dev" and task.draws_dev else split


def rule_in_words(task: Task) -> str:
    """Return how dev, or each fold, is drawn."""
    if task.time_on:
        return f"the latest by {task.time_on}"
    return f"drawn in whole groups of {task.group_on}" if task.group_on else "drawn by their text"


class RowsOfSplit(NamedTuple):
    """The rows of a split: those that are kept, those that are refused, and the number of rows in its file.

    The file may hold rows of another split, too.
    """

    examples: list[Example]
    refusals: list[Refusal]
    in_file: int


class _Dev(NamedTuple):
    """What is drawn from a file: the fold of each line of dev (0 where there is one dev), and the groups of dev.

    Folds have all groups, each in one fold, so that none has to be left out of train.
    """

    fold_by_line: Mapping[int, int]
    groups: Collection[str]


class Splits:
    """The splits of a folder's tasks."""

    def __init__(self, data_dir: Path, tasks: Tasks) -> None:
        self.data_dir = data_dir
        self.tasks = tasks
        self._devs: dict[str, _Dev] = {}  # by file
        self._known_groups: dict[str, set[str]] = {}  # by task, of dev and test
        self._last: tuple[Task, Split, tuple[list[Example], list[Refusal]]] | None = None  # what was read last

    def read(self, task: Task, split: Split, fold: int | None = None) -> RowsOfSplit:
        """Read the rows of a split, as `readers.read` does; faulty ones of a file of two splits are train's.

        Train has no line that is dev of another task, and no group of any task's dev and test. Of a task with folds,
        train and dev both have all rows; with a `fold`, which no other task minds, dev has this one alone, and train
        the others.
        """
        examples, refusals = self._rows_of_file(task, source(task, split))
        in_file = len(examples) + len(refusals)
        if source(task, split) != "train":
            return RowsOfSplit(examples, refusals, in_file)
        if task.folds:
            return self._of_folds(task, split, RowsOfSplit(examples, refusals, in_file), fold)
        dev_lines = self._dev(task).fold_by_line
        dev = [row for row in examples if row.line in dev_lines]
        train = [row for row in examples if row.line not in dev_lines]
        if not train or (task.draws_dev and not dev):
            raise _no_dev(self.data_dir / task.files["train"], task, len(examples))
        if split == "dev":
            return RowsOfSplit(dev, [], in_file)
        return self._without_known_groups(task, RowsOfSplit(train, refusals, in_file))

    def file(self, task: Task, split: Split) -> Path:
        """Return the file that the rows of a split come from."""
        return self.data_dir / task.files[source(task, split)]

    def tasks_of_file(self, task: Task) -> list[Task]:
        """Return the tasks whose train is that of a task; it is one of them."""
        return [other for other in self.tasks.values() if other.files["train"] == task.files["train"]]

    def _rows_of_file(self, task: Task, split: Split) -> tuple[list[Example], list[Refusal]]:
        """Return what `readers.read` does; a file is read once for its train and its dev."""
        if self._last is None or self._last[0] is not task or self._last[1] != split:
            self._last = (task, split, readers.read(self.data_dir, task, split))
        return self._last[2]

    def folds(self, task: Task, lines: Iterable[int]) -> np.ndarray:
        """Return the fold of each row of a task with folds, [rows], by the lines of the file."""
        fold_by_line = self._dev(task).fold_by_line
        return np.array([fold_by_line[line] for line in lines], dtype=int)

    def _of_folds(self, task: Task, split: Split, rows: RowsOfSplit, fold: int | None) -> RowsOfSplit:
        """Return the rows of a split of a task with folds: all, or by a `fold`; faulty rows are train's."""
        usable = self._without_known_groups(task, rows)
        folds = self.folds(task, [row.line for row in usable.examples])
        if missing := {*range(task.folds)} - {*folds.tolist()}:
            file = self.data_dir / task.files["train"]
            raise DataError(f"{file}: fold {min(missing) + 1} of {task.name} has no row; set fewer folds in tasks.yaml")
        if fold is not None:
            is_wanted = (folds == fold) if split == "dev" else (folds != fold)
            usable = usable._replace(examples=[usable.examples[number] for number in np.flatnonzero(is_wanted)])
        return usable if split == "train" else usable._replace(refusals=[])

    def _without_known_groups(self, task: Task, rows: RowsOfSplit) -> RowsOfSplit:
        """Return train without the rows whose group dev or test has; DataError where no row is left."""
        if not task.group_on:
            return rows
        owners: dict[str, str] = {}  # by group of dev or test, the task that has it; the task itself is last
        for other in sorted(self.tasks.values(), key=lambda other: other.name == task.name):
            if other.group_on == task.group_on:
                owners |= dict.fromkeys(self._groups_of_dev_and_test(other), other.name)
        train = [row for row in rows.examples if row.group not in owners]
        refusals: list[Refusal] = []
        for row in rows.examples:
            if owner := owners.get(row.group):
                reason = f"its {task.group_on} is that of a row of dev or test"
                of_other = "" if owner == task.name else f" of {owner}"
                refusals.append(Refusal(row.line, f"{reason}{of_other}", is_faulty=False))
        if not train:
            fault = f"each row of train has a {task.group_on} that dev or test has, too"
            raise DataError(f"{self.data_dir / task.files['train']}: {fault}; leave `group_on` of {task.name} out")
        return rows._replace(examples=train, refusals=[*rows.refusals, *refusals])

    def _groups_of_dev_and_test(self, task: Task) -> set[str]:
        """Return the groups of a task's dev and test; of folds, all of which are dev of some seed, none."""
        if task.name not in self._known_groups:
            is_drawn = task.draws_dev and (self.data_dir / task.files["train"]).is_file()
            groups = {*self._dev(task).groups} if is_drawn else set[str]()
            for split in ("dev", "test"):
                if split in task.files:
                    groups |= self._groups(task, self.data_dir / task.files[split])
            self._known_groups[task.name] = groups
        return self._known_groups[task.name]

    def _groups(self, task: Task, file: Path) -> set[str]:
        """Return the groups of a file, which may be missing where it is test's."""
        rows = readers.rows_of(file, task.encoding, task.name) if file.is_file() else ()
        return {readers.group_of(task, row.values) for row in rows} - {""}

    def _dev(self, task: Task) -> _Dev:
        """Return what is dev, in the file of a task's train, of all tasks that draw from it."""
        name = task.files["train"]
        if name not in self._devs:
            drawing = [other for other in self.tasks_of_file(task) if other.draws_dev]
            self._devs[name] = _drawn(self.data_dir / name, drawing) if drawing else _Dev({}, ())
        return self._devs[name]


def _drawn(file: Path, drawing: Sequence[Task]) -> _Dev:
    """Draw dev from the file of tasks, which have one rule."""
    task = drawing[0]
    rows = _rows(file, drawing)
    groups = {row.example.group for row in rows}
    if task.group_on and len(groups) < 2:
        fault = f"its {task.group_on} is the same in all rows"
        raise DataError(f"{file}: {fault}; allowed: several groups, some for dev and some for train")
    classes = {row.example.line: row.classes for row in rows}
    if task.folds:
        return _Dev(_draw_folds(file, task, [row.example for row in rows], classes), ())
    if task.time_on:
        lines = _latest(file, task, dates.read(file, task, {row.example.line: row.date for row in rows}))
    else:
        lines = _draw_dev([row.example for row in rows], classes)
    all_lines = {row.example.line for row in rows}
    if 2 * len(lines) < len(all_lines) // SHARE:
        raise _no_dev(file, task, len(all_lines))
    groups = {row.example.group for row in rows if row.example.line in lines} - {""}
    return _Dev(dict.fromkeys(lines, 0), groups)


def _no_dev(file: Path, task: Task, rows: int) -> DataError:
    return DataError(
        f"{file}: no dev can be drawn from its {rows} rows, which share {_shared(task)} or are too few; name a file "
        f"`dev` of {task.name} in tasks.yaml"
    )


def _shared(task: Task) -> str:
    """Return what rows that stay together have in common."""
    return f"sentences or a {task.group_on}" if task.group_on else "sentences"


class _Row(NamedTuple):
    """An entry of a file's row: a text or a pair without id and label, and what draws it.

    Attributes:
        example: the text or pair, with its line and group.
        classes: the task and class of each of the row's labels.
        date: as the file has it.
    """

    example: Example
    classes: Collection[tuple[str, Any]]
    date: Any


def _rows(file: Path, drawing: Sequence[Task]) -> list[_Row]:
    """Return an entry of each row for each text or pair of tasks, where its columns hold text."""
    rows: list[_Row] = []
    task = drawing[0]
    columns = [*dict.fromkeys(other.sentences for other in drawing)]
    for line, values in readers.rows_of(file, task.encoding, task.name):
        if records.repeats_header(values):
            continue
        classes = [(other.name, number) for other in drawing for number in _classes(other, values)]
        for names in columns:
            sentences = [values.get(name) for name in names]
            if not any(readers.fault_of_text("", sentence) for sentence in sentences):
                second = str(sentences[1]) if len(names) > 1 else None
                group = readers.group_of(task, values)
                example = Example("", str(sentences[0]), second, None, line, group)
                rows.append(_Row(example, classes, values.get(task.time_on)))
    return rows


def _classes(task: Task, values: Mapping[str, Any]) -> list[int | str]:
    """Return the classes of a row, of several labels each; none for a score, and for a label that is no class."""
    if task.several:
        number = several.read(task, several.value_of(task, values)).number
        (members,) = sets.members_of(np.array([number or 0]), task.classes)
        return [*np.flatnonzero(members).tolist()]
    label = label_text(values.get(task.label))
    if task.kind == "score" or not label or label in task.left_out:
        return []
    if not task.labels:
        return [label]
    return [task.labels[label]] if label in task.labels else []


def _latest(file: Path, task: Task, date_by_line: Mapping[int, datetime]) -> Collection[int]:
    """Return the lines of the latest rows, in whole dates: as near to a fifth of the rows as can be.

    Raises:
        DataError: more than half of the rows would be dev.
    """
    rows_by_date = sorted(Counter(date_by_line.values()).items(), reverse=True)
    ends = np.cumsum([rows for _, rows in rows_by_date])
    nearest = int(np.abs(ends - len(date_by_line) / SHARE).argmin())
    if 2 * ends[nearest] > len(date_by_line):
        fault = f"{ends[nearest]:,} of its {len(date_by_line):,} rows have the latest {task.time_on}"
        raise DataError(f"{file}: {fault}, so that no fifth is later than the rest; name a file `dev` of {task.name}")
    first = rows_by_date[nearest][0]
    return {line for line, date in date_by_line.items() if date >= first}


def _draw_folds(
    file: Path, task: Task, texts: Sequence[Example], classes: Mapping[int, Collection[tuple[str, Any]]]
) -> dict[int, int]:
    """Return by line the fold of each row, from 0; the last one has what the others left. Arguments as of `_draw_dev`.

    Raises:
        DataError: a fold has less than half of its share, or more than half of all rows; of two, three quarters.
    """
    fold_by_line: dict[int, int] = {}
    for fold in range(task.folds):
        left = [row for row in texts if row.line not in fold_by_line]
        is_last = fold == task.folds - 1
        lines = {row.line for row in left} if is_last else _draw_dev(left, classes, share=task.folds - fold)
        fold_by_line |= dict.fromkeys(lines, fold)
    sizes = np.bincount([*fold_by_line.values()], minlength=task.folds)
    total = int(sizes.sum())
    most = max(1 / 2, 3 / 2 / task.folds) * total
    if 2 * sizes.min() < total // task.folds or not sizes.min() or sizes.max() > most + 0.5:
        raise DataError(
            f"{file}: its {total:,} rows make no {task.folds} folds that are about alike (the smallest has "
            f"{sizes.min():,} rows, the largest {sizes.max():,}): they share {_shared(task)} or are too few; set fewer "
            f"folds of {task.name} in tasks.yaml, or name a file `dev`"
        )
    return fold_by_line


def _draw_dev(
    texts: Sequence[Example], classes: Mapping[int, Collection[tuple[str, Any]]], share: int = SHARE
) -> Collection[int]:
    """Return the lines of a fifth of the rows, in whole clusters, of each class those with the smallest hashes.

    Args:
        texts: a row is all entries of one line.
        classes: by line the task and class of its labels; rows that have none are drawn like one more class.
        share: one of so many rows is drawn.
    """
    digests = checks.digests(texts)
    row_numbers, lines = pd.factorize(digests["line"])
    cluster = checks.connected(row_numbers, digests)
    smallest = np.full(cluster.max(initial=-1) + 1, np.iinfo(np.uint64).max, np.uint64)  # hash of each cluster
    np.minimum.at(smallest, cluster[row_numbers], np.array([hash_of(row) for row in texts], np.uint64))
    rows_by_class: dict[Any, Counter[int]] = {}
    for line, number in zip(lines.tolist(), cluster.tolist(), strict=True):
        for task_and_class in classes.get(line) or [None]:
            rows_by_class.setdefault(task_and_class, Counter())[number] += 1
    is_dev = _stratified(np.bincount(cluster), np.argsort(smallest, kind="stable").tolist(), rows_by_class, share)
    return {*lines[is_dev[cluster]].tolist()}


def _stratified(
    sizes: np.ndarray, order: Iterable[int], rows_by_class: Mapping[Any, Counter[int]], share: int
) -> np.ndarray:
    """Choose clusters: a mask [clusters].

    As Sechidis et al. (2011), "On the stratification of multi-label data", it deals out the rarest class first, since
    a row may have classes of several tasks. A class with several rows has at least one in each split.

    Args:
        sizes: the number of rows of each cluster, [clusters].
        order: the clusters' numbers, in the order in which they are tried.
        rows_by_class: how many rows of each class are in each cluster.
        share: one of so many rows is chosen.
    """
    rank = {number: position for position, number in enumerate(order)}
    room = int(sizes.sum()) // share
    is_chosen = np.zeros(len(sizes), dtype=bool)
    decided = set[int]()
    for rows_of_cluster in sorted(
        rows_by_class.values(), key=lambda rows: (rows.total(), min(map(rank.__getitem__, rows)))
    ):
        total = rows_of_cluster.total()
        wanted = min(max(1, round(total / share)), total - 1)
        missing = wanted - sum(rows for number, rows in rows_of_cluster.items() if is_chosen[number])
        for number in sorted(rows_of_cluster.keys() - decided, key=rank.__getitem__):
            decided.add(number)
            if rows_of_cluster[number] <= missing and sizes[number] <= room:
                is_chosen[number] = True
                missing -= rows_of_cluster[number]
                room -= int(sizes[number])
    return is_chosen


def hash_of(row: Example) -> int:
    """Return the hash of eight bytes by which a row is drawn, for dev or to be spared.

    Its group gives it, the same in all files. Without one its sentences do, in either order, normalized.
    """
    if row.group:
        return int.from_bytes(hashlib.sha256(row.group.encode()).digest()[:8])
    texts = [checks.normalized(text) for text in (row.sentence1, row.sentence2) if text]
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return min(int.from_bytes(digest[:8]) for digest in digests)
