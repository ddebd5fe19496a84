"""Read all rows of a folder's tasks, and note what is odd in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from mtbert.baselines import others
from mtbert.baselines.rows import Rows
from mtbert.data import checks, dates, drawing, readers, several
from mtbert.data import labels as labels_of
from mtbert.data.drawing import RowsOfSplit, Splits
from mtbert.data.preprocess import are_too_many, classes_without_rows
from mtbert.data.readers import Example
from mtbert.errors import DataError, first_of
from mtbert.study import classes, columns, row_notes
from mtbert.tasks import SPLITS, Split, Task, label_text

CLASSES_SHOWN = 6
SHOWN = 5  # files, columns and labels
FIRST_FOLD = 0  # of a task with folds, whose dev stands for all
SPLITS_OF_FOLDS: tuple[Split, ...] = ("train", "dev")  # the splits that a fold divides


@dataclass(frozen=True)
class FolderTask:
    """A task of the folder: its rows by split, and notes on its files, a line each; of folds, dev is the first one."""

    task: Task
    rows: dict[Split, list[Example]]
    notes: list[str]


def understand(splits: Splits, task: Task, is_new: bool, most_refused: float) -> FolderTask:
    """Read all of a task's rows, which was drafted if it is new; DataError where a score of it could not be trusted."""
    rows: dict[Split, list[Example]] = {}
    notes: list[str] = []
    labels_left_out: set[str] = set()
    for split in SPLITS:
        if drawing.source(task, split) in task.files:
            of_split = splits.read(task, split)
            notes += _notes(splits, task, split, of_split, most_refused)
            labels_left_out |= {refusal.label for refusal in of_split.refusals if not refusal.is_faulty}
            rows[split] = splits.read(task, split, FIRST_FOLD).examples if task.folds else of_split.examples
    if task.kind != "score":
        _check_classes(splits, task, rows)
        for fold in range(FIRST_FOLD + 1, task.folds):
            _check_classes(splits, task, {split: splits.read(task, split, fold).examples for split in SPLITS_OF_FOLDS})
    if len({row.label for row in rows["dev"]}) < 2:
        of_all = f"the same set of labels in {task.label}" if task.several else f"one {task.label}"
        fault = f"all rows of dev have {of_all}, so no score can tell models apart"
        raise DataError(f"{splits.file(task, 'dev')}: {fault}; add rows of another")
    if unknown := [label for label in task.left_out if label and label not in labels_left_out]:
        fault = f"no row has the label {first_of(unknown, SHOWN)}, which is `left_out`"
        notes.append(f"{name_of_file(splits, task, 'train')}: {fault}")
    notes += [*_notes_of_columns(splits, task, rows, is_new), *_notes_of_rows(splits, task, rows)]
    return FolderTask(task, rows, notes)


def name_of_file(splits: Splits, task: Task, split: Split) -> str:
    """Return the name of a split's file, with the column of the label where other tasks have the file, too."""
    name = splits.file(task, split).name
    return name if len(splits.tasks_of_file(task)) == 1 else f"{name}, {task.label}"


def _notes_of_columns(splits: Splits, task: Task, rows: dict[Split, list[Example]], is_new: bool) -> Iterator[str]:
    """Yield which columns of train are not used, and what to check of its labels."""
    name = name_of_file(splits, task, "train")
    if task is splits.tasks_of_file(task)[0]:
        yield from _unused_columns(splits, task)
    for note in _notes_of_labels(task, rows) if is_new else ():
        yield f"{name}: {note}"
    alike: dict[str, dict[int, str]] = {}  # by what is seen of a label without marks: its spelling in each class
    for label, number in task.labels.items():
        alike.setdefault(labels_of.unmarked(label), {})[number] = label
    if groups := [" and ".join(map(repr, labels.values())) for labels in alike.values() if len(labels) > 1]:
        yield f"{name}: different classes, though they look alike: {', '.join(groups)}"


def _notes_of_labels(task: Task, rows: dict[Split, list[Example]]) -> Iterator[str]:
    """Yield what may be wrong with the labels of a task that was drafted."""
    if made_of_others := labels_of.made_of_others(task.labels or task.class_labels, task.several):
        yield made_of_others
    if task.several:
        return
    labels = {float(row.label or 0) for row in (*rows["train"], *rows["dev"])}
    if note := classes.note_of_numbers(task, labels):
        yield note
    if missing_values := labels_of.missing_values(task):
        remedy = f"move them from `classes` to `left_out: [{', '.join(map(repr, missing_values))}]`"
        yield f"taken for classes: {first_of(missing_values, SHOWN)}; if they stand for no label, {remedy}"


def _unused_columns(splits: Splits, task: Task) -> Iterator[str]:
    """Yield which columns of train no task uses, and which of them hold one value, or none."""
    values_by_column: dict[str, set[str]] = {}
    for row in readers.rows_of(splits.file(task, "train"), task.encoding, task.name):
        for column, value in row.values.items():
            of_column = values_by_column.setdefault(column, set())
            if len(of_column) < 2:
                of_column.add(label_text(value))
    used: set[str] = set()
    for other in splits.tasks_of_file(task):
        used |= {*other.sentences, *other.label_columns, other.id, other.group_on, other.time_on}
    unused: list[str] = []
    for column, values in values_by_column.items():
        if column and column not in used:
            only = f" ({', '.join(values) or 'empty'} in every row)" if len(values) == 1 else ""
            unused.append(f"{column}{only}")
    if unused:
        yield f"{splits.file(task, 'train').name}: not used: {first_of(unused, SHOWN)}"
    yield from _groups_and_dates(splits, task, [column for column in values_by_column if column not in used])


def _groups_and_dates(splits: Splits, task: Task, unused: Sequence[str]) -> Iterator[str]:
    """Yield which columns look like groups or dates, by which rows could be split."""
    name = splits.file(task, "train").name
    for column in columns.called(unused, columns.GROUPS) if not task.group_on else ():
        remedy = f"to keep its rows in one split, write `group_on: {column}` into tasks.yaml"
        yield f"{name}: {column} may say which rows belong together; {remedy}"
    for column in columns.called(unused, columns.TIMES) if not task.time_on and task.draws_dev else ():
        instead = " in place of `folds`" if task.folds else ""
        yield f"{name}: {column} looks like dates; to draw the latest rows for dev, write `time_on: {column}`{instead}"


def _notes_of_rows(splits: Splits, task: Task, rows: dict[Split, list[Example]]) -> Iterator[str]:
    """Yield what is odd in the rows: contradicting labels, rows that two splits have, and lacking classes."""
    digests: dict[Split, Any] = {split: checks.digests(of_split) for split, of_split in rows.items()}
    for split, of_split in digests.items():
        name = name_of_file(splits, task, split)
        if task.kind != "score" and (conflicts := checks.conflicts(of_split)):
            text = "text has rows" if conflicts == 1 else "texts have rows"
            yield f"{name}: {conflicts:,} {'' if split == 'train' else f'{split} '}{text} of different labels"
        yield from (f"{name}: {note}" for note in row_notes.texts(rows[split]))
        yield from (f"{name}: {shared}" for shared in _rows_of_earlier_splits(split, digests))
        if split != "test" and (lacking := classes_without_rows(task, of_split)):
            yield f"{name}: no row of {split} has the label {first_of(lacking, CLASSES_SHOWN)}"
        if split != "test" and task.several and (in_all := several.in_all(task, of_split["label"])):
            yield f"{name}: every row of {split} has the label {first_of(in_all, CLASSES_SHOWN)}"
    for note in row_notes.accuracy_of_one_class(task, rows["dev"]):
        yield f"{name_of_file(splits, task, 'dev')}: {note}"
    for note in row_notes.between_splits(task, splits.data_dir, rows):
        yield f"{name_of_file(splits, task, 'train')}: {note}"


def _rows_of_earlier_splits(split: Split, digests: Mapping[Split, Any]) -> Iterator[str]:
    """Yield how many rows of a split are rows of train, or of dev, too."""
    rows = digests[split]
    for earlier in SPLITS[: SPLITS.index(split)]:
        if count := int(rows["normalized"].isin(digests[earlier]["normalized"]).sum()):
            yield f"{count:,} of {len(rows):,} {split} rows are in {earlier}, too"


def rows_of_predictions(folder_tasks: Sequence[FolderTask]) -> others.ReadRows:
    """Return what finds the rows of a task's split, in the form that predictions of others are read by."""
    by_task = {of_task.task.name: of_task.rows for of_task in folder_tasks}

    def find(task: Task, split: Split) -> Rows | None:
        examples = by_task[task.name].get(split)
        if task.folds and split == "dev":  # all rows are
            examples = [row for part in SPLITS_OF_FOLDS for row in by_task[task.name][part]]
        return None if examples is None else Rows.of_examples(examples, task)

    return find


def _check_classes(splits: Splits, task: Task, rows: dict[Split, list[Example]]) -> None:
    """Raise DataError where dev has a class that train lacks."""
    classes = _classes(task, rows["train"])
    for row in rows["dev"]:
        others = _classes(task, [row]) - classes
        if not others:
            continue
        if task.draws_dev:
            remedy = "all rows of which were drawn for dev; add more of them, or give the task a dev file"
        else:
            remedy = "which no row of train has; add such rows to train, or leave it out of dev"
        name = task.class_names[min(others)]
        raise DataError(f"{splits.file(task, 'dev')}, line {row.line}: its {task.label} is {name!r}, {remedy}")


def _classes(task: Task, rows: Sequence[Example]) -> set[int]:
    """Return the numbers of the classes, or of the labels, that rows have."""
    numbers = [row.label or 0.0 for row in rows]
    if not task.several:
        return {*map(int, numbers)}
    return {label for label, count in enumerate(several.counts(task, numbers)) if count}


def _notes(splits: Splits, task: Task, split: Split, rows: RowsOfSplit, most_refused: float) -> list[str]:
    """Return what to know of a file; DataError where too many of its rows are faulty, or a class is not listed."""
    file, name = splits.file(task, split), name_of_file(splits, task, split)
    faulty = [refusal for refusal in rows.refusals if refusal.is_faulty]
    lines = [f"line {refusal.line}: {refusal.reason}" for refusal in faulty]
    for refusal, line in zip(faulty, lines, strict=True):
        if refusal.label and task.kind != "score":
            raise DataError(f"{file}, {line}; correct it, or list it in `classes` of {task.name} in tasks.yaml")
    if are_too_many(len(faulty), rows.in_file, most_refused):
        raise DataError(f"{file}: {len(faulty):,} of {rows.in_file:,} rows cannot be used; {first_of(lines, 3)}")
    notes: list[str] = []
    if faulty:
        notes.append(f"{name}: {len(faulty)} rows are left out; {lines[0]}")
    if split == "dev" and task.folds:
        predicted = f"each of its {len(rows.examples):,} rows is predicted by a model that did not see it"
        notes.append(f"{name}: {predicted} ({task.folds} folds, {drawing.rule_in_words(task)})")
    elif split == "dev" and task.draws_dev:
        drawn = f"{len(rows.examples):,} of its rows, {drawing.rule_in_words(task)}, are dev"
        notes.append(f"{name}: tasks.yaml names no dev file, so {drawn}")
        notes += _dates_to_come(splits, task, rows)
    return [*notes, *_notes_of_groups(splits, task, split, rows)]


def _dates_to_come(splits: Splits, task: Task, dev: RowsOfSplit) -> Iterator[str]:
    """Yield how many rows of a dev that is drawn by date have a date after today, which may be a slip."""
    if not task.time_on:
        return
    file = splits.file(task, "train")
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
        name = name_of_file(splits, task, "train")
        yield f"{name}: {count} a {task.time_on} after today, first line {late[0]}; correct slips"


def _notes_of_groups(splits: Splits, task: Task, split: Split, rows: RowsOfSplit) -> Iterator[str]:
    """Yield which rows are left out of train for their group, and where groups say nothing."""
    group_on, name = task.group_on, name_of_file(splits, task, split)
    if not group_on:
        return
    if of_groups := [refusal for refusal in rows.refusals if not (refusal.is_faulty or refusal.label)]:
        yield f"{name}: {len(of_groups):,} rows are left out; line {of_groups[0].line}: {of_groups[0].reason}"
    if without := sum(not row.group for row in rows.examples):
        unknown = f"{without:,} of {len(rows.examples):,} rows have no {group_on}"
        yield f"{name}: {unknown}, so rows of their group may be in train"
    if split == "train" and len({row.group for row in rows.examples}) == len(rows.examples):
        yield f"{name}: {group_on} is another in each row, so `group_on` keeps no rows together"
