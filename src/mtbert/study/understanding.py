"""Read all rows of a folder's tasks, and note what is odd in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mtbert.baselines import others
from mtbert.baselines.rows import Rows
from mtbert.data import checks, dates, drawing, readers, several
from mtbert.data import labels as labels_of
from mtbert.data.preprocess import are_too_many, classes_without_rows
from mtbert.data.readers import Example
from mtbert.errors import DataError, first_of
from mtbert.study import classes, columns, oddities
from mtbert.tasks import SPLITS, Split, Task, label_text

CLASSES_SHOWN = 6
SHOWN = 5  # files, columns and labels
FIRST_FOLD = 0  # of a task with folds, whose dev stands for all
FOLDED: tuple[Split, ...] = ("train", "dev")  # the splits that a fold divides
SplitRows = dict[Split, list[Example]]


@dataclass(frozen=True)
class TaskRows:
    """A task with its rows by split, and notes on its files, a line each; of folds, dev is the first one."""

    task: Task
    rows: SplitRows
    notes: list[str]


def understand(splits: drawing.Splits, task: Task, is_new: bool, most_refused: float) -> TaskRows:
    """Read all of a task's rows, which was guessed if it is new; DataError where a score of it could not be trusted."""
    place = Place(splits.data_dir, task, tasks_of_file(splits.tasks, task))
    rows: SplitRows = {}
    notes: list[str] = []
    labels_left_out: set[str] = set()
    for split in SPLITS:
        if drawing.source(task, split) in task.files:
            of_split = splits.read(task, split)
            notes += _notes(place, split, of_split, most_refused)
            labels_left_out |= {refusal.label for refusal in of_split.refusals if not refusal.is_faulty}
            rows[split] = splits.read(task, split, FIRST_FOLD).examples if task.folds else of_split.examples
    if task.kind != "score":
        _check_classes(place, rows)
        for fold in range(FIRST_FOLD + 1, task.folds):
            _check_classes(place, {split: splits.read(task, split, fold).examples for split in FOLDED})
    if len({row.label for row in rows["dev"]}) < 2:
        of_all = f"the same set of labels in {task.label}" if task.several else f"one {task.label}"
        raise DataError(
            f"{place.file('dev')}: all rows of dev have {of_all}, so no score can tell models apart; add rows of "
            "another"
        )
    if unknown := [label for label in task.left_out if label and label not in labels_left_out]:
        notes.append(f"{place.shown('train')}: no row has the label {first_of(unknown, SHOWN)}, which is `left_out`")
    notes += [*_notes_of_columns(place, rows, is_new), *_notes_of_rows(place, rows)]
    return TaskRows(task, rows, notes)


def tasks_of_file(described: Mapping[str, Task], task: Task) -> list[Task]:
    """Return the tasks whose train is that of a task; it is one of them."""
    return [other for other in described.values() if other.files["train"] == task.files["train"]]


@dataclass(frozen=True)
class Place:
    """Where a task's rows are.

    Attributes:
        folder: that of the files.
        task: the task.
        tasks: all that have its train.
    """

    folder: Path
    task: Task
    tasks: Sequence[Task]

    def file(self, split: Split) -> Path:
        """Return the file that the rows of a split come from."""
        return self.folder / self.task.files[drawing.source(self.task, split)]

    def shown(self, split: Split) -> str:
        """Return the file's name, with the column of the label where other tasks have the file, too."""
        return self.file(split).name if len(self.tasks) == 1 else f"{self.file(split).name}, {self.task.label}"


def _notes_of_columns(place: Place, rows: SplitRows, is_new: bool) -> Iterator[str]:
    """Yield which columns of train are not used, and what to check of its labels."""
    task, shown = place.task, place.shown("train")
    if task is place.tasks[0]:
        yield from _unused_columns(place)
    for doubt in _doubts(task, rows) if is_new else ():
        yield f"{shown}: {doubt}"
    alike: dict[str, dict[int, str]] = {}  # by what is seen of a label without marks: its spelling in each class
    for label, number in task.labels.items():
        alike.setdefault(labels_of.bare(label), {})[number] = label
    if groups := [" and ".join(map(repr, labels.values())) for labels in alike.values() if len(labels) > 1]:
        yield f"{shown}: different classes, though they look alike: {', '.join(groups)}"


def _doubts(task: Task, rows: SplitRows) -> Iterator[str]:
    """Yield what may be wrong with the labels of a task that was guessed."""
    if made_of_others := labels_of.made_of_others(task.labels or task.class_labels, task.several):
        yield made_of_others
    if task.several:
        return
    labels = {float(row.label or 0) for row in (*rows["train"], *rows["dev"])}
    if doubt := classes.doubt(task, labels):
        yield doubt
    if stand_ins := labels_of.stand_ins(task):
        remedy = f"move them from `classes` to `left_out: [{', '.join(map(repr, stand_ins))}]`"
        yield f"taken for classes: {first_of(stand_ins, SHOWN)}; if they stand for no label, {remedy}"


def _unused_columns(place: Place) -> Iterator[str]:
    """Yield which columns of train no task uses, and which of them hold one value, or none."""
    values_by_column: dict[str, set[str]] = {}
    for row in readers.rows_of(place.file("train"), place.task.encoding, place.task.name):
        for column, value in row.values.items():
            of_column = values_by_column.setdefault(column, set())
            if len(of_column) < 2:
                of_column.add(label_text(value))
    used: set[str] = set()
    for task in place.tasks:
        used |= {*task.sentences, *task.label_columns, task.id, task.group_on, task.time_on}
    unused: list[str] = []
    for column, values in values_by_column.items():
        if column and column not in used:
            only = f" ({', '.join(values) or 'empty'} in every row)" if len(values) == 1 else ""
            unused.append(f"{column}{only}")
    if unused:
        yield f"{place.file('train').name}: not used: {first_of(unused, SHOWN)}"
    yield from _hints(place, [column for column in values_by_column if column not in used])


def _hints(place: Place, unused: Sequence[str]) -> Iterator[str]:
    """Yield which columns look like groups or dates, by which rows could be split."""
    shown, task = place.file("train").name, place.task
    for column in columns.called(unused, columns.GROUPS) if not task.group_on else ():
        remedy = f"to keep its rows in one split, write `group_on: {column}` into tasks.yaml"
        yield f"{shown}: {column} may say which rows belong together; {remedy}"
    for column in columns.called(unused, columns.TIMES) if not task.time_on and drawing.draws(task) else ():
        instead = " in place of `folds`" if task.folds else ""
        yield f"{shown}: {column} looks like dates; to draw the latest rows for dev, write `time_on: {column}`{instead}"


def _notes_of_rows(place: Place, rows: SplitRows) -> Iterator[str]:
    """Yield what is odd in the rows: contradicting labels, rows that two splits have, and lacking classes."""
    task = place.task
    digests: dict[Split, Any] = {split: checks.digests(of_split) for split, of_split in rows.items()}
    for split, of_split in digests.items():
        shown = place.shown(split)
        if task.kind != "score" and (conflicts := checks.conflicts(of_split)):
            text = "text has rows" if conflicts == 1 else "texts have rows"
            yield f"{shown}: {conflicts:,} {'' if split == 'train' else f'{split} '}{text} of different labels"
        yield from (f"{shown}: {oddity}" for oddity in oddities.texts(rows[split]))
        yield from (f"{shown}: {shared}" for shared in _rows_of_earlier_splits(split, digests))
        if split != "test" and (lacking := classes_without_rows(task, of_split)):
            yield f"{shown}: no row of {split} has the label {first_of(lacking, CLASSES_SHOWN)}"
        if split != "test" and task.several and (in_all := several.in_all(task, of_split["label"])):
            yield f"{shown}: every row of {split} has the label {first_of(in_all, CLASSES_SHOWN)}"
    for oddity in oddities.accuracy_of_one_class(task, rows["dev"]):
        yield f"{place.shown('dev')}: {oddity}"
    for oddity in oddities.between_splits(task, place.folder, rows):
        yield f"{place.shown('train')}: {oddity}"


def _rows_of_earlier_splits(split: Split, digests: Mapping[Split, Any]) -> Iterator[str]:
    """Yield how many rows of a split are rows of train, or of dev, too."""
    rows = digests[split]
    for earlier in SPLITS[: SPLITS.index(split)]:
        if count := int(rows["folded"].isin(digests[earlier]["folded"]).sum()):
            yield f"{count:,} of {len(rows):,} {split} rows are in {earlier}, too"


def rows_of_predictions(task_rows: Sequence[TaskRows]) -> others.ReadRows:
    """Return what finds the rows of a task's split, in the form that predictions of others are read by."""
    by_task = {of_task.task.name: of_task.rows for of_task in task_rows}

    def find(task: Task, split: Split) -> Rows | None:
        examples = by_task[task.name].get(split)
        if task.folds and split == "dev":  # all rows are
            examples = [row for part in FOLDED for row in by_task[task.name][part]]
        return None if examples is None else Rows.of_examples(examples, task)

    return find


def _check_classes(place: Place, rows: SplitRows) -> None:
    """Raise DataError where dev has a class that train lacks."""
    task = place.task
    classes = _classes(task, rows["train"])
    for row in rows["dev"]:
        others = _classes(task, [row]) - classes
        if not others:
            continue
        if drawing.draws(task):
            remedy = "all rows of which were drawn for dev; add more of them, or give the task a dev file"
        else:
            remedy = "which no row of train has; add such rows to train, or leave it out of dev"
        name = task.class_names[min(others)]
        raise DataError(f"{place.file('dev')}, line {row.line}: its {task.label} is {name!r}, {remedy}")


def _classes(task: Task, rows: Sequence[Example]) -> set[int]:
    """Return the numbers of the classes, or of the labels, that rows have."""
    numbers = [row.label or 0.0 for row in rows]
    if not task.several:
        return {*map(int, numbers)}
    return {label for label, count in enumerate(several.counts(task, numbers)) if count}


def _notes(place: Place, split: Split, rows: drawing.RowsOfSplit, most_refused: float) -> list[str]:
    """Return what to know of a file; DataError where too many of its rows are faulty, or a class is not listed."""
    task, file = place.task, place.file(split)
    faulty = [refusal for refusal in rows.refusals if refusal.is_faulty]
    lines = [f"line {refusal.line}: {refusal.reason}" for refusal in faulty]
    for refusal, line in zip(faulty, lines, strict=True):
        if refusal.label and task.kind != "score":
            raise DataError(f"{file}, {line}; correct it, or list it in `classes` of {task.name} in tasks.yaml")
    if are_too_many(len(faulty), rows.in_file, most_refused):
        raise DataError(f"{file}: {len(faulty):,} of {rows.in_file:,} rows cannot be used; {first_of(lines, 3)}")
    notes: list[str] = []
    if faulty:
        notes.append(f"{place.shown(split)}: {len(faulty)} rows are left out; {lines[0]}")
    if split == "dev" and task.folds:
        predicted = f"each of its {len(rows.examples):,} rows is predicted by a model that did not see it"
        notes.append(f"{place.shown(split)}: {predicted} ({task.folds} folds, {drawing.rule_in_words(task)})")
    elif split == "dev" and drawing.draws(task):
        drawn = f"{len(rows.examples):,} of its rows, {drawing.rule_in_words(task)}, are dev"
        notes.append(f"{place.shown(split)}: tasks.yaml names no dev file, so {drawn}")
        notes += _dates_to_come(place, rows)
    return [*notes, *_notes_of_groups(place, split, rows)]


def _dates_to_come(place: Place, dev: drawing.RowsOfSplit) -> Iterator[str]:
    """Yield how many rows of a dev that is drawn by date have a date after today, which may be a slip."""
    task, file = place.task, place.file("train")
    if not task.time_on:
        return
    lines = {row.line for row in dev.examples}
    values = {
        row.line: row.values.get(task.time_on)
        for row in readers.rows_of(file, task.encoding, task.name)
        if row.line in lines
    }
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    moments = dates.read(file, task, values).items()
    if late := [line for line, moment in moments if moment.replace(tzinfo=UTC) > tomorrow]:
        count = "1 row of dev has" if len(late) == 1 else f"{len(late):,} rows of dev have"
        yield f"{place.shown('train')}: {count} a {task.time_on} after today, first line {late[0]}; correct slips"


def _notes_of_groups(place: Place, split: Split, rows: drawing.RowsOfSplit) -> Iterator[str]:
    """Yield which rows are left out of train for their group, and where groups say nothing."""
    group_on, shown = place.task.group_on, place.shown(split)
    if not group_on:
        return
    reason = drawing.reason_of_group(place.task)
    if of_groups := [refusal for refusal in rows.refusals if refusal.reason.startswith(reason)]:
        yield f"{shown}: {len(of_groups):,} rows are left out; line {of_groups[0].line}: {of_groups[0].reason}"
    if without := sum(not row.group for row in rows.examples):
        unknown = f"{without:,} of {len(rows.examples):,} rows have no {group_on}"
        yield f"{shown}: {unknown}, so rows of their group may be in train"
    if split == "train" and len({row.group for row in rows.examples}) == len(rows.examples):
        yield f"{shown}: {group_on} is another in each row, so `group_on` keeps no rows together"
