"""Read rows from the files that people have: CSV by commas, semicolons or tabs, JSON lines, Parquet, also gzipped.

A fault of the file (missing, not UTF-8, not this format, a missing column, a row that cannot be read) is a DataError
with file and line. A fault of a row's values is a refusal: the row is left out, counted, and listed with its line and
the reason. No other row is left out, and no text is changed.

CSV files are read row by row with Python's `csv`, not pandas: pandas reads a question such as "NA" as a
missing value, gives no line numbers, and turns one faulty label into a column of text. The course's reviews and
questions were quoted more than once when the files were made. The surplus quotation marks are data, and are kept.
"""

import itertools
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from mtbert.data import labels, records, several
from mtbert.errors import DataError, first_of, one_line, shorten
from mtbert.tasks import Split, Task, label_text

UNLABELLED = "-1"  # what stands in place of a test file's labels, if it is none of the task's
MOST_LABELS = 12  # in a message
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.I)  # not `1_0`, which Python takes for 10
ROUNDED = re.compile(r"[0-9]+([.,][0-9]+)?e\+[0-9]+", re.I)  # how spreadsheets and pandas write long numbers
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")


class Refusal(NamedTuple):
    """A row that is left out: the line it starts on (from 1), and the reason.

    Attributes:
        label: its label, where the task has no such label, or leaves its rows out; else empty.
        is_faulty: False where its annotators did not agree, or dev or test has its group.
    """

    line: int
    reason: str
    label: str = ""
    is_faulty: bool = True


class Example(NamedTuple):
    """A row that is kept; `sentence2` is None for one-sentence tasks, `label` where the file has no labels.

    `group` holds the column of groups and its value, since other columns may have the same values.
    """

    id: str
    sentence1: str
    sentence2: str | None
    label: float | None
    line: int
    group: str = ""


def read(data_dir: Path, task: Task, split: Split) -> tuple[list[Example], list[Refusal]]:
    """Read the rows of one split of a task from its file below `data_dir`: those that are kept, and the others.

    A test file whose first row has no label, an empty one, or a -1 that is no label of the task, has no labels. Where
    rows without a label are left out, as in a file of several tasks, they are no rows of the task, and a test file has
    no labels if none of its rows has one. Multi-label test files follow the same rule.

    Raises:
        DataError: the file is missing, has another format, or holds no usable row.
    """
    path = data_dir / task.files[split]
    if not path.is_file():
        raise DataError(f"{path}: no such file; `files` of {task.name} in tasks.yaml names it: correct or remove it")
    examples: dict[str, Example] = {}  # by id
    refusals: list[Refusal] = []
    _check_class_names(data_dir, task, split)
    is_labelled = split != "test" or _has_labels(path, task)
    columns: dict[str, None] = {}  # of all rows: in JSON lines, each has its own
    for row in rows_of(path, task.encoding, task.name):
        columns |= dict.fromkeys(row.values)
        if is_labelled and not _is_of_task(task, row):
            continue
        checked = _checked(row, f"{path.name}:{row.line}", task, is_labelled, examples, split != "test")
        if isinstance(checked, Example):
            examples[checked.id] = checked
        else:
            refusals.append(checked)
    if columns:
        _check_columns(path, [*columns], task, split)
    if not examples:
        reasons = [f"; line {refusal.line}: {refusal.reason}" for refusal in refusals[:2]]
        if columns and not refusals:
            reasons = [f" for {task.name}: its {task.label} is empty in every row"]
        raise DataError(f"{path}: it holds no row that can be used{''.join(reasons)}")
    return [*examples.values()], refusals


def _has_labels(path: Path, task: Task) -> bool:
    """Return whether a test file tells its labels; by its first row, or by all where a row without one may be left out.

    Such rows are of other tasks alone, or -1 is left out.
    """
    rows = rows_of(path, task.encoding, task.name)
    if {"", UNLABELLED}.isdisjoint(task.left_out) and not task.several:
        rows = itertools.islice(rows, 1)
    columns: set[str] = set()
    for row in rows:
        columns |= row.values.keys()
        if not _is_unlabelled(task, several.value_of(task, row.values)):
            return True
    if not columns.isdisjoint(task.label_columns):
        print(f"{path}: its {task.label} is empty or -1, so it counts as without labels", file=sys.stderr)
    return not columns  # an empty file


def _is_of_task(task: Task, row: records.NumberedRow) -> bool:
    """Return whether a row is one of the task; False if the row belongs to another task of this file."""
    return "" not in task.left_out or bool(label_text(several.value_of(task, row.values)))


def _checked(
    row: records.NumberedRow,
    number: str,
    task: Task,
    is_labelled: bool,
    earlier: dict[str, Example],
    needs_group: bool,
) -> Example | Refusal:
    """Return an example of a row, or why the row is refused.

    Args:
        row: a row of the file.
        number: its id where the task has no column of ids.
        task: the task.
        is_labelled: whether the file has labels.
        earlier: the examples before it, by id.
        needs_group: whether it cannot be used without a group, where the task has them.
    """
    line, fields = row
    if records.repeats_header(fields):
        return Refusal(line, "it repeats the header")
    identifier: Any = fields.get(task.id) if task.id else number
    identifier = str(identifier) if isinstance(identifier, int) else identifier
    label: Any = several.value_of(task, fields)
    if is_labelled and label_text(label) in task.left_out:
        return Refusal(line, f"its {task.label} is {label!r}, which is left out", label_text(label), is_faulty=False)
    faults = [fault_of_text(name, fields.get(name)) for name in task.sentences]
    faults.append(fault_of_text("its id", identifier))
    group = group_of(task, fields)
    if task.group_on:
        faults.append(_fault_of_group(task, fields, needs_group))
    reading = several.read(task, label) if task.several else several.Reading(_number(task, label), label=str(label))
    value = reading.number if is_labelled else None
    has_other_label = is_labelled and value is None
    if has_other_label:
        faults.append(_fault_of_label(task, label, reading))
    if not is_labelled and not _is_unlabelled(task, label):
        faults.append(f"it has a {task.label}, and the first row has none")
    reason = "; ".join(filter(None, faults))
    if not reason and identifier in earlier:
        reason = f"its id is that of line {earlier[identifier].line}"
    if reason:
        return Refusal(line, reason, reading.label if has_other_label and label_text(label) else "")
    sentences = [fields[name] for name in task.sentences]
    return Example(identifier, sentences[0], sentences[1] if task.is_pair else None, value, line, group)


def group_of(task: Task, fields: Mapping[str, Any]) -> str:
    """Return a row's group as `Example` has it; empty where it has none."""
    value = label_text(fields.get(task.group_on)) if task.group_on else ""
    return f"{task.group_on} {value}" if value else ""


def _fault_of_group(task: Task, fields: Mapping[str, Any], is_needed: bool) -> str | None:
    """Return why a row's group cannot be used; None where it can, or where there is none and none is needed."""
    value = label_text(fields.get(task.group_on))
    if not value and is_needed:
        return f"{task.group_on} is empty"
    if ROUNDED.fullmatch(value):
        return f"{task.group_on} is {value}, a number that was rounded when it was saved; save its column as text"
    return None


def fault_of_text(name: str, text: object) -> str | None:
    """Return why a sentence or an id cannot be used, with the name of its column; None where it can."""
    if not isinstance(text, str):
        return f"{name} is {shorten(text)}; allowed: text"
    if not any(character.isprintable() and not character.isspace() for character in text):
        return f"{name} is empty"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"{name} holds {text[error.start]!r}, which is no character"
    return None


def _is_unlabelled(task: Task, label: Any) -> bool:
    """Return whether a test file's value says that the row has no label."""
    if task.columns:
        return all(label_text(cell) == UNLABELLED for cell in (label or {}).values())
    text = label_text(label)
    return not text or (text == UNLABELLED and (task.several or _number(task, label) is None))


def _number(task: Task, label: Any) -> float | None:
    """Return a label as a number; None where it is none of the task's."""
    text = label_text(label)
    if task.labels:
        return task.labels.get(text)
    if task.kind != "score":
        return float(text) if text in map(str, range(task.classes)) else None
    if not NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if task.lowest <= number <= task.highest else None


def _fault_of_label(task: Task, label: object, reading: several.Reading) -> str:
    if task.several and reading.label:
        return f"{reading.fault}; allowed: {allowed_labels(task)}{labels.hint(task, reading.label)}"
    if task.several:
        return reading.fault
    return f"{task.label} is {shorten(label)}; allowed: {allowed_labels(task)}{labels.hint(task, label)}"


def allowed_labels(task: Task) -> str:
    """Return the labels that a task may have, in words."""
    if task.kind == "score":
        return f"a number from {task.lowest:g} to {task.highest:g}"
    return first_of([*(task.labels or task.class_labels)], MOST_LABELS)


def ending(path: PurePath) -> str:
    """Return the ending that names a file's format, in small letters: `.csv` of `a.CSV.gz`."""
    name = path.name.lower().removesuffix(records.GZIP)
    return PurePath(name).suffix


def separator(path: Path, encoding: str) -> str:
    """Return what separates the columns of a file that is neither Parquet nor JSON lines."""
    return "\t" if ending(path) == ".tsv" else records.separator_of(_text(path, encoding, "TASK"))


def _text(path: Path, encoding: str, task: str) -> str:
    remedy = records.SAVE_AS_UTF8
    if task:
        remedy = f"; set `encoding` of {task} in tasks.yaml, or --encoding where there is no such file, such as cp1252"
    content = records.unpacked(path.read_bytes(), str(path))
    return records.decoded(content, str(path), encoding, remedy)


def rows_of(path: Path, encoding: str = "utf-8", task: str = "") -> Iterator[records.NumberedRow]:
    """Read a file's rows by its ending, each with the line on which it starts.

    `task` has the file's encoding in tasks.yaml, which a message then names; empty for a file that has to be UTF-8.

    A file that is neither Parquet nor JSON lines, one object a line, has a header, quoted fields, doubled quotes, and
    line breaks inside quotes. Test files of the course's SST and CFIMDB have one more index column, titled "0".
    """
    if ending(path) not in ENDINGS:
        raise DataError(f"{path}: a file of this ending is not read; allowed: {', '.join(ENDINGS)}")
    if ending(path) == ".parquet":
        return _parquet(path)
    text = _text(path, encoding, task)
    if ending(path) == ".jsonl":
        return records.json_lines(text, str(path))
    return records.separated(text, str(path), "\t" if ending(path) == ".tsv" else records.separator_of(text))


def _parquet(path: Path) -> Iterator[records.NumberedRow]:
    """Read a Parquet file, as the model hub has data sets; a row's number is its line, and numbers become text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a whole Parquet file: {one_line(error)}") from None
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            if isinstance(value, int | float):
                row[name] = str(value)
        yield records.NumberedRow(number, row)


def class_names(path: Path, column: str) -> list[str]:
    """Return the names of the classes 0, 1, ... that a Parquet file of the library `datasets` has for a column."""
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata or {}
    try:
        described = json.loads(metadata.get(b"huggingface", b"{}"))
        feature = described["info"]["features"][column]
        feature = feature.get("feature", feature)  # that of a list's items
        names = feature["names"] if feature["_type"] == "ClassLabel" else []
    except (ValueError, LookupError, TypeError, AttributeError):  # a stranger may have written the metadata
        return []
    is_names = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
    return names if is_names and len({*names}) == len(names) else []


def _check_class_names(data_dir: Path, task: Task, split: Split) -> None:
    """Raise DataError where a Parquet file names the classes 0, 1, ... otherwise than train does."""
    paths = [data_dir / task.files[each] for each in ("train", split) if each in task.files]
    train, path = paths[0], paths[-1]
    if ending(train) != ".parquet" or ending(path) != ".parquet" or not train.is_file():
        return
    of_train, names = class_names(train, task.label), class_names(path, task.label)
    if of_train and names and names != of_train:
        own, others = (first_of(each, MOST_LABELS) for each in (names, of_train))
        raise DataError(
            f"{path}: its {task.label} numbers the classes {own}, and {train.name} numbers them {others}; write both "
            "with the same names in the same order"
        )


def _check_columns(path: Path, columns: list[str], task: Task, split: Split) -> None:
    """Raise DataError for a missing column; only test files may lack labels."""
    needed = [*filter(None, [task.id]), *task.sentences]
    if split != "test":
        needed += [*task.label_columns, *filter(None, [task.group_on])]
    if split == "train":
        needed += filter(None, [task.time_on])
    if missing := [name for name in needed if name not in columns]:
        alike = [column for column in columns if labels.seen(column) in map(labels.seen, missing)]
        remedy = f"; write {alike[0]!r} as it is in train and tasks.yaml, with its capitals and blanks" if alike else ""
        raise DataError(
            f"{path} needs the columns {', '.join(needed)}; missing: {', '.join(missing)}; it has "
            f"{shorten(columns)}; tasks.yaml says what {task.name} reads{remedy}"
        )
