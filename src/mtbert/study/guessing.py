"""Guess a task from its train: the columns of its sentences and of its label, and the kind of label.

What cannot be guessed is asked. The order of columns decides nothing.
"""

import contextlib
import copy
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtbert.data import labels as labels_of
from mtbert.data import readers, several
from mtbert.data.labels import ASKED, NUMBER, SCORES, SEVERAL, TASK_OF_EACH, Question
from mtbert.data.records import repeats_header
from mtbert.errors import DataError, first_of
from mtbert.study import naming
from mtbert.tasks import FILE, Split, Task, label_text
from mtbert.tasks.reading import MOST_IN_A_SET

# The label's column has one of these names, else the task's, else one of OTHER_LABELS.
LABELS = ("label", "gold_label", "labels")
OF_PAIRS = (*SCORES, "is_duplicate")  # beside a pair of sentences, the only one of OTHER_LABELS is surely the label
OTHER_LABELS = ("class", "category", "target", *OF_PAIRS)
IDS = ("", "id", "idx", "index", "guid", "pairid", "unnamed: 0")
# Columns by which rows could be split, without _ and capitals: neither labels nor text, and used only where asked.
GROUPS = (
    "accountid", "authorid", "clientid", "conversationid", "customerid", "docid", "documentid", "groupid", "patientid",
    "sessionid", "threadid", "userid",
)  # fmt: skip
TIMES = ("createdat", "date", "datetime", "timestamp")
PAIRS = (("sentence1", "sentence2"), ("question1", "question2"), ("premise", "hypothesis"), ("text", "text_pair"))
SAMPLED = 2000  # rows that decide what a column holds
FEW = 20  # values of a column of labels, if it has no label's name, and of whole numbers that surely are classes
MOST_CLASSES = 200
HEADED = (".csv", ".tsv")
WHOLE = re.compile(r"-?[0-9]+")
COLUMNS_TO_WRITE = (
    "Write the label's column here, and the text's (of a pair both) at `sentences`, such as [text]. Of several labels, "
    "such as [topic, urgent], each becomes a task"
)
NO_TASK = "If it is the file of no task, write `ignore: [FILE]` in place of these lines"
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


class Guess(NamedTuple):
    """A task as tasks.yaml has it, with what its train tells; and what to ask of it, if anything."""

    entry: Entry
    question: Question | None


def describe(folder: Path, name: str, entry: Entry, encoding: str) -> list[Guess]:
    """Return the task of a file, or one for each of its columns of labels.

    Args:
        folder: that of the files.
        name: the task's, or that of the files where they hold several.
        entry: its files, and what is known of its columns: `sentences` and `label`, of which there may be a list.
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
    if len(columns) == 1 and re.search(r"[,;|\t]", columns[0]) and readers.ending(file) in HEADED:
        fault = f"its only column is {columns[0]!r}, which seems to be several"
        allowed = "commas, semicolons or tabs between columns, in .tsv tabs, and no quotes around a line"
        raise DataError(f"{file}: {fault}; allowed: {allowed}")
    guesses = _guesses(file, name, entry, rows, columns)
    others = [folder / other for split, other in files.items() if split != "train"]
    rest: Entry = {"encoding": encoding} if encoding != "utf-8" else {}
    if "id" not in entry and not _is_asked(guesses) and (column := _id(name, columns, rows, others, encoding)):
        rest["id"] = column
    return [Guess(copy.deepcopy(guess.entry) | rest, guess.question) for guess in guesses]  # YAML would hold aliases


def _is_asked(guesses: Sequence[Guess]) -> bool:
    """Return whether the columns of a task are asked for."""
    return any(ASKED in (guess.entry["label"], guess.entry["sentences"]) for guess in guesses)


def _guesses(file: Path, name: str, entry: Entry, rows: Records, columns: Sequence[str]) -> list[Guess]:
    """Return a guess for each column of labels, or one that asks for columns; errors as for `describe`."""
    is_named = "label" in entry
    labels: list[str] = []
    try:
        labels = _labels_of_entry(entry) if is_named else _label_columns(name, rows, columns)
        sentences = entry.get("sentences") or _sentences(rows, columns, labels)
        entry = entry | {"sentences": sentences}
        guesses: list[Guess] = []
        if "several" not in entry and (indicators := _indicators(rows, labels)):
            guesses.append(Guess(entry | {"label": indicators, "several": ASKED}, _one_or_several(indicators)))
            labels = [label for label in labels if label not in indicators]
        for label in labels:
            others = [other for other in labels if other != label]
            with _remedy_of_several(name, entry["files"], sentences, label, others):
                of_label = {key: value for key, value in entry.items() if key != "several" or value} | {"label": label}
                guesses.append(_guess(file, name, of_label, rows, columns, is_named))
        return guesses
    except DoubtError as doubt:
        if not is_named and _header_looks_like_a_row(file, rows, columns):
            raise _no_header(file, columns) from None
        label: str | list[str] = ASKED
        if doubt.key == "sentences":
            label = labels if len(labels) > 1 else labels[0]
        text = f"its columns are {', '.join(columns)}, and {doubt.text}. {NO_TASK}"
        return [Guess(entry | {"sentences": ASKED, "label": label}, Question(doubt.key, text, ()))]


def _indicators(rows: Records, columns: Sequence[str]) -> list[str]:
    """Return the columns of 0 and 1, which may be the labels of one task; none where fewer than two hold both."""
    indicators = [column for column in columns if _values(rows, column) <= {"0", "1"}]
    return indicators if sum(len(_values(rows, column)) == 2 for column in indicators) > 1 else []


def _one_or_several(indicators: Sequence[str]) -> Question:
    text = (
        f"{first_of(indicators, FEW)} hold 0 and 1. If they are the labels of one task, of which a row may have "
        "several, write true. If each is a task of its own, write false"
    )
    return Question("several", text, ())


@contextlib.contextmanager
def _remedy_of_several(
    name: str, files: Mapping[Split, str], sentences: Sequence[str], label: str, others: Sequence[str]
) -> Iterator[None]:
    """Add to a DataError how to leave out a column that was taken for one of several labels."""
    try:
        yield
    except DataError as error:
        remedy = f"; to leave {label} out, {without_label(name, files, sentences, others)}" if others else ""
        raise DataError(f"{error}{remedy}") from None


def without_label(name: str, files: Mapping[Split, str], sentences: Sequence[str], labels: Sequence[str]) -> str:
    """Return what to write into tasks.yaml so that these columns of a file are labels, and no other one."""
    by_split = ", ".join(f"{split}: {file}" for split, file in files.items())
    entry = f"{{files: {{{by_split}}}, sentences: [{', '.join(sentences)}], label: [{', '.join(labels)}]}}"
    return f"write into {FILE}: `{name}: {entry}`"


def _labels_of_entry(entry: Entry) -> list[str]:
    """Return the columns that an entry calls its label or labels."""
    label = entry["label"]
    return [*map(str, label)] if isinstance(label, list) else [label]


def _train(folder: Path, name: str, files: naming.FilesOfTask) -> str:
    """Return a task's train; DataError where it has none."""
    if "train" in files:
        return files["train"]
    fault = f"{name} has {first_of([*files.values()], 3)}, but no train"
    remedy = f"add {name}-train.csv, or rename it like the train of its task"
    if unreadable := naming.unreadable_files(folder):
        remedy = f"{remedy}; not read: {first_of(unreadable, 3)}; allowed: {', '.join(readers.ENDINGS)}"
    raise DataError(f"{folder}: {fault}; {remedy}{naming.other_name(folder, name, files)}")


def _guess(file: Path, name: str, entry: Entry, rows: Records, columns: Sequence[str], is_named: bool) -> Guess:
    """Return a task with its columns and its classes or score, and what to ask of its labels.

    DoubtError where a column cannot be told. A label that is named may have any number of classes.
    """
    label = entry["label"]
    if label not in columns:
        raise DataError(f"{file}: it has no column {label}, which {FILE} calls the label; it has {', '.join(columns)}")
    values = [row.get(label) for row in rows]
    if entry.get("several") or entry.get("separator") or _in_lists(values):
        return Guess(entry | _sets(file, label, values, entry.get("separator", "")) | _names_of_sets(file, label), None)
    labels = _labels(file, rows, label)
    if copied := [column for column in entry["sentences"] if _is_copy(rows, column, label)]:
        raise DataError(f"{file}: its {label} is the {copied[0]} itself in every row; allowed: a label of each text")
    if not is_named and _looks_like_a_row(file, name, entry["sentences"], label, labels):
        raise _no_header(file, columns)
    question = labels_of.question(label, labels, may_be_joined="separator" not in entry)
    kind = _kind(file, label, labels, question, len(labels) if is_named else MOST_CLASSES)
    return Guess(entry | kind | _names(file, label, labels), question)


def _label_columns(name: str, rows: Records, columns: Sequence[str]) -> list[str]:
    """Return the columns of labels; DoubtError where they cannot be told.

    One is called so. Else it is the only one with few values; of several beside one text, each is of a task of its own.
    A column that is called like the task may be its text, such as `review`.
    """
    columns = [column for column in columns if column.casefold() not in IDS]
    called_like_task = [column for column in _called(columns, [name]) if not _is_the_text(rows, columns, column)]
    surely = [*_called(columns, LABELS), *called_like_task]
    if surely:
        return surely[:1]
    columns = _of_content(columns)
    lists = [column for column in columns if 1 < len(_in_lists([row.get(column) for row in rows])) <= MOST_IN_A_SET]
    if len(lists) == 1:
        return lists
    probably = _called(columns, OTHER_LABELS)
    if _pair(columns) and len(probably) == 1 and _called(probably, OF_PAIRS):
        return probably
    candidates = [column for column in columns if not _is_text(rows, column) and not _counts_rows(rows, column)]
    if probably:
        others = [column for column in candidates if column not in (probably[0], *_pair(columns))]
        rivals = [column for column in others if _may_be_the_label(rows, column, probably[0])]
        candidates = [probably[0], *rivals]
    labels = candidates if len(candidates) < 2 else _several_labels(rows, candidates)
    if _indicators(rows, labels):  # beside which a column of 0 alone is a label that no row has
        labels += [column for column in _indicators(rows, candidates) if column not in labels]
    if len(labels) == 1 or (labels and not _pair(columns)):
        return labels
    shown = f" (it may be {first_of(candidates, 3)})" if candidates else ""
    raise DoubtError("label", f"it is not clear which one is the label{shown}. {COLUMNS_TO_WRITE}")


def _several_labels(rows: Records, candidates: Sequence[str]) -> list[str]:
    """Return the columns that each are the label of a task; none where one has more values than classes surely have.

    A column of one value says nothing, nor does one that numbers the words of another.
    """
    values = {column: _values(rows, column) for column in candidates}
    columns = [column for column in candidates if len(values[column]) > 1]
    numeric = [column for column in columns if all(map(_is_number, values[column]))]
    in_words = [column for column in columns if column not in numeric]
    labels = [
        column
        for column in columns
        if column not in numeric or not any(_repeats(rows, column, other) for other in in_words)
    ]
    return labels if len(labels) == 1 or all(len(values[column]) <= FEW for column in labels) else []


def _values(rows: Records, column: str) -> set[str]:
    """Return a column's different values as labels; empty ones are none."""
    return {label_text(row.get(column)) for row in rows} - {""}


def _may_be_the_label(rows: Records, column: str, named: str) -> bool:
    """Return whether a column of few values may be the label, though another is called so."""
    values = _values(rows, column)
    has_many_numbers = len(values) > MOST_CLASSES and all(map(_is_number, values))
    return len(values) > 1 and not has_many_numbers and not _repeats(rows, column, named)


def groups(columns: Sequence[str]) -> list[str]:
    """Return the columns that are called like groups."""
    return [column for column in columns if _letters(column) in GROUPS]


def times(columns: Sequence[str]) -> list[str]:
    """Return the columns that are called like dates."""
    return [column for column in columns if _letters(column) in TIMES]


def _of_content(columns: Sequence[str]) -> list[str]:
    """Return the columns that are called neither like groups nor like dates."""
    return [column for column in columns if _letters(column) not in (*GROUPS, *TIMES)]


def _letters(column: str) -> str:
    return re.sub(r"[-_. ]", "", column.casefold())


def _called(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns of such names, in the order of names."""
    return [column for name in names for column in columns if column.casefold() == name]


def _labels(file: Path, rows: Records, label: str) -> set[str]:
    """Return a file's labels; DataError where rows have several each."""
    values = [row.get(label) for row in rows]
    if several := sorted(label_text(value) for value in values if _holds_several(value)):
        if {*several} == {"[]"}:
            raise DataError(f"{file}: its {label} holds no label in any row; allowed: two labels or more")
        shown = f"{file}: its {label} holds {several[0]}"
        if faults := _beside_lists(values):
            number, fault = next(iter(faults.items()))
            more = f" ({len(faults):,} rows are not lists)" if len(faults) > 1 else ""
            raise DataError(f"{shown}, and in row {number} it is {fault}{more}")
        if several[0].startswith("{"):
            raise DataError(f"{shown}, an object; write the label alone in its place, as a word or a number")
        raise DataError(f"{shown}, several labels a row; {TASK_OF_EACH}")
    return {*map(label_text, values)} - {""}


def _in_lists(values: Sequence[object]) -> set[str]:
    """Return the labels in values that are lists, of which some may be missing; none where any is something else."""
    try:
        lists = [several.parts(value, "") for value in values if not (value is None or value == "")]
    except DataError:
        return set()
    return {label for labels in lists for label in labels}


def _beside_lists(values: Sequence[object]) -> dict[int, str]:
    """Return what is wrong with each value that is no list of labels, by its number; nothing if most are none."""
    faults: dict[int, str] = {}
    for number, value in enumerate(values, 1):
        try:
            several.parts(value, "")
        except DataError as error:
            faults[number] = str(error)
    return faults if 2 * len(faults) < len(values) else {}


def _sets(file: Path, column: str, values: Sequence[object], separator: str) -> dict[str, Any]:
    """Return the entries of tasks.yaml about labels of which a row has several; DataError where they are wrong."""
    lists: list[list[str]] = []
    faults: list[DataError] = []
    for value in values:
        try:
            lists.append(several.parts(value, separator))
        except DataError as fault:  # a faulty row is named where rows are counted
            faults.append(fault)
    labels = {label for of_row in lists for label in of_row}
    if faults and not labels:
        raise DataError(f"{file}: its {column} is {faults[0]}")
    if labels <= {"0", "1"} and len({*map(len, lists)}) == 1 and len(lists[0]) > 1:
        shown = f"{file}: its {column} holds [{', '.join(lists[0])}] and lists as long"
        raise DataError(f"{shown}, a yes or no to each of several labels; {TASK_OF_EACH}")
    _check_labels(file, column, labels)
    if len(labels) > MOST_IN_A_SET:
        remedy = f"allowed: at most {MOST_IN_A_SET}; leave out rare ones, or make two tasks of them"
        raise DataError(f"{file}: its {column} holds {len(labels):,} labels, of which a row has several; {remedy}")
    if all(map(NUMBER.fullmatch, labels)):
        classes = [_whole(label) for label in sorted(labels, key=float)]
    else:
        classes = [_in_yaml(label) for label in sorted(labels)]
    return ({} if separator else {"several": True}) | {"classes": classes}


def _check_labels(file: Path, column: str, labels: set[str]) -> None:
    """Raise DataError where these are fewer than two, or no labels."""
    shown = f"{file}: its {column} holds"
    if len(labels) < 2:
        raise DataError(f"{shown} {', '.join(labels) or 'nothing'}; allowed: two labels or more")
    if why := labels_of.fault(column, labels):
        raise DataError(f"{shown} {why}, or list its `classes` in {FILE}")


def _names_of_sets(file: Path, column: str) -> dict[str, Any]:
    """Return the entries of labels in lists that a Parquet file names; nothing where it names none."""
    names = readers.class_names(file, column) if readers.ending(file) == ".parquet" else []
    return {"classes": [*range(len(names))], "names": names} if 1 < len(names) <= MOST_IN_A_SET else {}


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


def _header_looks_like_a_row(file: Path, rows: Records, columns: Sequence[str]) -> bool:
    """Return whether, of the columns of a table, one is called like a number or one of its own values, one a sentence.

    A sentence has four words or more.
    """
    if readers.ending(file) not in HEADED:
        return False
    has_value = any(_is_number(column) or label_text(column) in _values(rows, column) for column in columns)
    return has_value and any(len(column.split()) > 3 for column in columns)


def _no_header(file: Path, columns: Sequence[str]) -> DataError:
    fault = f"line 1 looks like a row, not a header: the columns would be called {', '.join(columns)}"
    remedy = f"if line 1 is the header, describe it in {FILE}; if not, write one above it, such as text,label"
    return DataError(f"{file}: {fault}; {remedy}")


def _pair(columns: Sequence[str]) -> list[str]:
    """Return two columns that are called like a pair of sentences; none where there are no such two."""
    return next(([*pair] for pair in PAIRS if {*pair} <= {*columns}), [])


def _sentences(rows: Records, columns: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the column of text, or two that are called like a pair; DoubtError where there is none, or more."""
    columns = [column for column in _of_content(columns) if column not in labels and column.casefold() not in IDS]
    if pair := _pair(columns):
        return pair
    texts = [
        column
        for column in columns
        if _is_text(rows, column) and not any(_repeats(rows, column, label) for label in labels)
    ]
    if not texts:
        texts = columns  # a handful of rows has few values in each
    if len(texts) != 1:
        raise DoubtError("sentences", "it is not clear which hold the text. Write them here, such as [text]")
    return texts


def _repeats(rows: Records, column: str, label: str) -> bool:
    """Return whether a column is the label in other words: each of its values goes with one label, and the reverse."""
    pairs = {(str(row.get(column)), label_text(row.get(label))) for row in rows}
    values, labels = ({*side} for side in zip(*pairs, strict=True))
    return len(pairs) == len(values) == len(labels) <= min(MOST_CLASSES, len(rows) / 2)


def _is_copy(rows: Records, column: str, label: str) -> bool:
    """Return whether a label is the text of its row, of which there is more than one."""
    return len(_values(rows, label)) > 1 and all(
        label_text(row.get(column)) == label_text(row.get(label)) for row in rows
    )


def _is_text(rows: Records, column: str, few: int = FEW) -> bool:
    """Return whether a column holds text: words, and more than a few of them."""
    values = [str(row.get(column)) for row in rows[:SAMPLED]]
    distinct = {*values}
    return len(distinct) > min(few, len(values) / 2) and not all(map(_is_number, distinct))


def _is_the_text(rows: Records, columns: Sequence[str], column: str) -> bool:
    """Return whether a column holds text: many words, or words of more kinds than each other column holds; no lists."""
    if _in_lists([row.get(column) for row in rows]):
        return False
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
    _check_labels(file, label, labels)
    if question and question.key in ("classes", "separator"):
        return {question.key: ASKED} | ({"metric": "f1"} if question.key == "classes" and len(labels) > 2 else {})
    doubted = question.doubted if question else ()
    numbers = sorted((label for label in labels if _is_number_here(label)), key=float)
    words = sorted(labels.difference(numbers))
    scores = [float(number) for number in numbers if number not in doubted]
    if {*words} <= {*doubted} and _are_scores(label, scores):
        score = {"score": [math.floor(scores[0]), math.ceil(scores[-1])]}
        return score | ({"left_out": ASKED} if doubted else {})
    numbers = [number for number in numbers if NUMBER.fullmatch(number)]
    words = sorted(labels.difference(numbers))
    if words and len(numbers) > labels_of.FEW:
        remedy = f"correct it, or say in {FILE} its `classes`, or its `score` and what is `left_out`"
        raise DataError(f"{file}: its {label} holds numbers such as {min(numbers)}, and {words[0]!r}; {remedy}")
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
    if task.label.casefold() in SCORES or len(labels) <= FEW:
        return ""
    shown = f"its {task.label} holds {len(labels):,} whole numbers, which are taken for"
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
