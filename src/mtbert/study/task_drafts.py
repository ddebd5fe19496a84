"""Draft a task from its train: which columns are its sentences and its label, and what its labels are.

The rules are those of `columns` and `classes`. What they leave open is asked.
"""

import contextlib
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mtbert.data import readers
from mtbert.data.labels import Question
from mtbert.data.records import repeats_header
from mtbert.errors import DataError, first_of
from mtbert.study import classes, columns, naming
from mtbert.study.classes import MOST_CLASSES, Entry
from mtbert.study.columns import FEW, Table
from mtbert.tasks import FILE, Split, label_text
from mtbert.tasks.reading import ASKED

HEADED = (".csv", ".tsv")
LABEL_TO_WRITE = (
    "Write the label's column here, and the text's (of a pair both) at `sentences`, such as [text]. Of several labels, "
    "such as [topic, urgent], each becomes a task"
)
NO_TASK = "If it is the file of no task, write `ignore: [FILE]` in place of these lines"


class TaskDraft(NamedTuple):
    """A task as tasks.yaml has it, with what its train tells; and what to ask of it, if anything."""

    entry: Entry
    question: Question | None


def describe(folder: Path, name: str, entry: Entry, encoding: str) -> list[TaskDraft]:
    """Return the task of a file, or one for each of its columns of labels.

    Args:
        folder: that of the files.
        name: the task's, or that of the files where they hold several.
        entry: its files, and either both or none of `sentences` and `label`, of which there may be a list.
        encoding: of its text files.

    Raises:
        DataError: its train is not there, holds no row, or labels that are wrong as they are written.
    """
    files = entry["files"]
    file = folder / _train(folder, name, files)
    rows = [row.values for row in readers.rows_of(file, encoding, name) if not repeats_header(row.values)]
    if not rows:
        raise DataError(f"{file}: it holds no row")
    table = Table(rows)
    _check_separator(file, table)
    drafts = _drafts(file, name, entry, table)
    others = [folder / other for split, other in files.items() if split != "train"]
    rest: Entry = {"encoding": encoding} if encoding != "utf-8" else {}
    if "id" not in entry and ASKED not in (drafts[0].entry["label"], drafts[0].entry["sentences"]):
        rows_of_others = ([row.values for row in readers.rows_of(other, encoding, name)] for other in others)
        if column := columns.ids(table, rows_of_others):
            rest["id"] = column
    return [TaskDraft(copy.deepcopy(draft.entry) | rest, draft.question) for draft in drafts]  # YAML would hold aliases


def _train(folder: Path, name: str, files: Mapping[Split, str]) -> str:
    """Return a task's train; DataError where it has none."""
    if "train" in files:
        return files["train"]
    fault = f"{name} has {first_of([*files.values()], 3)}, but no train"
    remedy = f"add {name}-train.csv, or rename it like the train of its task"
    if unreadable := naming.unreadable_files(folder):
        remedy = f"{remedy}; not read: {first_of(unreadable, 3)}; allowed: {', '.join(readers.ENDINGS)}"
    raise DataError(f"{folder}: {fault}; {remedy}{naming.other_name(folder, name, files)}")


def _check_separator(file: Path, table: Table) -> None:
    """Raise DataError where a file's only column seems to be several."""
    first = next(iter(table.values))
    if len(table.values) == 1 and re.search(r"[,;|\t]", first) and readers.ending(file) in HEADED:
        fault = f"its only column is {first!r}, which seems to be several"
        allowed = "commas, semicolons or tabs between columns, in .tsv tabs, and no quotes around a line"
        raise DataError(f"{file}: {fault}; allowed: {allowed}")


def _drafts(file: Path, name: str, entry: Entry, table: Table) -> list[TaskDraft]:
    """Return a draft for each column of labels, or one that asks for columns; errors as for `describe`."""
    if "label" in entry:
        labels = [*map(str, entry["label"])] if isinstance(entry["label"], list) else [entry["label"]]
        return _of_columns(file, name, entry, labels, table)
    labels = columns.labels(table, name)
    _check_header(file, name, labels, table)
    if not labels or (len(labels) > 1 and (table.pair or not all(map(table.has_few, labels)))):
        may_be = f" (it may be {first_of(labels, 3)})" if labels else ""
        return [_asking_for_label(entry, table, f"it is not clear which one is the label{may_be}")]
    entry = entry | {"sentences": columns.sentences(table, labels), "label": labels[0] if len(labels) == 1 else labels}
    if len(entry["sentences"]) != 1 and not table.pair:
        why = "it is not clear which hold the text. Write them here, such as [text]"
        return [TaskDraft(entry | {"sentences": ASKED}, _question("sentences", table, why))]
    drafts = _of_columns(file, name, entry, labels, table)
    for found, _ in drafts:
        count = 0 if "names" in found else len(found.get("classes", ()))
        if count > MOST_CLASSES:
            return [_asking_for_label({"files": entry["files"]}, table, f"{found['label']} holds {count:,} words")]
    return drafts


def _asking_for_label(entry: Entry, table: Table, why: str) -> TaskDraft:
    return TaskDraft(
        entry | {"sentences": ASKED, "label": ASKED}, _question("label", table, f"{why}. {LABEL_TO_WRITE}")
    )


def _question(key: str, table: Table, text: str) -> Question:
    return Question(key, f"its columns are {', '.join(table.values)}, and {text}. {NO_TASK}", ())


def _of_columns(file: Path, name: str, entry: Entry, labels: Sequence[str], table: Table) -> list[TaskDraft]:
    """Return a draft for each column of labels; columns of 0 and 1 together, until the user says what they are."""
    drafts: list[TaskDraft] = []
    if missing := [label for label in labels if label not in table.values]:
        fault = f"it has no column {missing[0]}, which {FILE} calls the label; it has {', '.join(table.values)}"
        raise DataError(f"{file}: {fault}")
    indicators = table.indicators(labels) if "several" not in entry else []
    if indicators:
        text = (
            f"{first_of(indicators, FEW)} hold 0 and 1. If they are the labels of one task, of which a row may have "
            "several, write true. If each is a task of its own, write false"
        )
        question = Question("several", text, ())
        drafts.append(TaskDraft(entry | {"label": indicators, "several": ASKED}, question))
    for label in labels:
        if label not in indicators:
            others = [other for other in labels if other not in (label, *indicators)]
            with with_remedy(how_to_leave_out(label, name, entry["files"], entry["sentences"], others)):
                drafts.append(_of_column(file, entry | {"label": label}, label, table))
    return drafts


def _of_column(file: Path, entry: Entry, label: str, table: Table) -> TaskDraft:
    """Return a task with its classes or score, and what to ask of them."""
    separator = entry.get("separator", "")
    if entry.get("several") or separator or table.listed(label):
        several = {} if separator else {"several": True}
        return TaskDraft(entry | several | classes.of_sets(file, label, table.cells(label), separator), None)
    cells = [*map(label_text, table.cells(label))]
    if copied := [text for text in entry["sentences"] if [*map(label_text, table.cells(text))] == cells]:
        raise DataError(f"{file}: its {label} is the {copied[0]} itself in every row; allowed: a label of each text")
    entry = {key: value for key, value in entry.items() if key != "several"}
    of_labels, question = classes.of_labels(file, label, table.values[label], "separator" not in entry)
    return TaskDraft(entry | of_labels, question)


def _check_header(file: Path, name: str, labels: Sequence[str], table: Table) -> None:
    """Raise DataError where a header seems to be a row: a label's column is a number, or a class beside several words.

    A column may be called like one of its classes, such as `spam`.
    """
    if readers.ending(file) not in HEADED:
        return
    unnamed = [label for label in labels if not columns.called([label], [name, *columns.LABELS, *columns.OTHER_LABELS])]
    has_text = any(len(column.split()) > 1 for column in table.values)
    if any(columns.is_number(label) or (has_text and label_text(label) in table.values[label]) for label in unnamed):
        fault = f"line 1 looks like a row, not a header: the columns would be called {', '.join(table.values)}"
        remedy = f"if line 1 is the header, describe it in {FILE}; if not, write one above it, such as text,label"
        raise DataError(f"{file}: {fault}; {remedy}")


@contextlib.contextmanager
def with_remedy(remedy: str) -> Iterator[None]:
    """Add to a DataError what to do about it."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{error}{remedy}") from None


def how_to_leave_out(
    label: str, name: str, files: Mapping[Split, str], sentences: Sequence[str], others: Sequence[str]
) -> str:
    """Return how to leave out a column that was taken for one of several labels; empty where it is the only one.

    Args:
        label: the column.
        name: that of the files.
        files: of the task.
        sentences: of the task.
        others: columns of other labels.
    """
    if not others:
        return ""
    by_split = ", ".join(f"{split}: {file}" for split, file in files.items())
    entry = f"{{files: {{{by_split}}}, sentences: [{', '.join(sentences)}], label: [{', '.join(others)}]}}"
    return f"; to leave {label} out, write into {FILE}: `{name}: {entry}`"
