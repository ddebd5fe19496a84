"""Readers for the corpora in their own formats: the course's CSV files, and the JSON lines of SNLI and MNLI.

A fault of the whole file (missing, empty, not UTF-8, not this format, a missing column) is a DataError with file and
line. A fault of a single row is a refusal: the row is left out, counted, and listed with its line and the reason.
No other row is left out, and no text is changed.

Files are read row by row; only a digest of each id is kept in memory. The course's files are read with
Python's `csv`, not pandas: pandas reads a question such as "NA" or "null" as a missing value, gives no line numbers,
and turns one faulty label into a column of text. On the course's files both read the same rows. Their reviews and
questions were quoted more than once when the files were made, so the text has surplus quotation marks. They are part
of the data, and are kept.
"""

import csv
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from mtbert.errors import DataError
from mtbert.tasks import Split, Task

if TYPE_CHECKING:
    from _csv import Reader

LONGEST_FIELD = 2**20  # characters; csv's own limit of 131,072 is less than some documents
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # float() also takes "nan", "inf" and "1_0"
LONGEST_LINE = 2**24  # bytes: room for two longest fields, in any alphabet
LONGEST_SHOWN = 60  # characters of a faulty value in a message
NO_CONSENSUS = "-"  # gold_label of SNLI and MNLI where the annotators did not agree


class Refusal(NamedTuple):
    """A row that is left out: the line it starts on (from 1), the start of its id where it has one, and the reason."""

    line: int
    id: str
    reason: str


class Example(NamedTuple):
    """A row that is kept; `sentence2` is None for one-sentence tasks, `label` where the file has no labels."""

    id: str
    sentence1: str
    sentence2: str | None
    label: float | None
    line: int


class Record(NamedTuple):
    """A row of the file before any check: the line it starts on, its id, and its fields by column."""

    line: int
    id: Any
    fields: dict[str, Any]


class Table(NamedTuple):
    """A file whose format and columns are right: whether it has labels, and its rows."""

    labelled: bool
    rows: Iterator[Record | Refusal]


def read(data_dir: Path, task: Task, split: Split) -> pd.DataFrame:
    """Read the usable rows of one split of a task from its file below `data_dir`.

    Returns:
        Columns id, sentence1, sentence2 (strings, null for one-sentence tasks), label (float64, null where the file has
        no labels) and line (int64, from 1, where the row starts).

    Raises:
        DataError: the file is missing, has another format, or holds no usable row.
    """
    kept = [row for row in stream(data_dir / task.files[split], task, split) if isinstance(row, Example)]
    types = {"id": "string", "sentence1": "string", "sentence2": "string", "label": "float64", "line": "int64"}
    return pd.DataFrame(kept, columns=list(types)).astype(types)


def stream(path: Path, task: Task, split: Split) -> Iterator[Example | Refusal]:
    """Yield the rows of a file one by one, as examples or refusals; DataError where `read` raises it."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if not path.stat().st_size:
        raise DataError(f"{path}: it is empty")
    kept, refused, first = 0, 0, None
    for row in _checked(FORMATS[task.reader](path, task, split), task):
        if isinstance(row, Refusal):
            refused, first = refused + 1, first or row
        else:
            kept += 1
        yield row
    if first and not kept:
        raise DataError(
            f"{path}: none of its {refused} rows can be used; the first, on line {first.line}: {first.reason}"
        )
    if not kept:
        raise DataError(f"{path}: it holds no rows")


def _checked(table: Table, task: Task) -> Iterator[Example | Refusal]:
    line_of: dict[bytes, int] = {}
    for row in table.rows:
        if isinstance(row, Refusal):
            yield row
            continue
        faults = _faults(row, task, table.labelled)
        if not faults and (line := line_of.setdefault(_digest(row.id), row.line)) != row.line:
            faults = [f"its id is that of line {line}"]
        if faults:
            yield Refusal(row.line, _printable(row.id), "; ".join(faults))
        else:
            yield _example(row, task, table.labelled)


def _digest(identifier: str) -> bytes:
    """Return a digest of 16 bytes, so that two ids of a corpus never share one."""
    return hashlib.blake2b(identifier.encode(), digest_size=16).digest()


def _printable(identifier: object) -> str:
    """Return the start of an id; half a surrogate pair, which no file can hold, becomes its number."""
    text = identifier if isinstance(identifier, str) else ""
    return _cut(text.encode(errors="backslashreplace").decode())


def _example(record: Record, task: Task, labelled: bool) -> Example:
    sentences = [record.fields[name] for name in task.sentences]
    label = None
    if labelled:
        word = record.fields[task.label]
        label = float(task.labels[word] if task.labels else word)
    return Example(record.id, sentences[0], sentences[1] if task.is_pair else None, label, record.line)


def _faults(record: Record, task: Task, labelled: bool) -> list[str]:
    """Return all that is wrong with a row."""
    label = record.fields.get(task.label)
    faults = [fault_of_text(name, record.fields.get(name)) for name in task.sentences]
    faults.append(fault_of_text("its id", record.id))
    if labelled:
        faults.append(_fault_of_label(task, label))
    elif label is not None:
        faults.append(f"it has a {task.label}, and the first row has none")
    return [fault for fault in faults if fault]


def fault_of_text(name: str, text: object) -> str | None:
    """Return why a sentence or an id cannot be used, with the name of its column; None where it can."""
    if not isinstance(text, str):
        return f"{name} is {_shown(text)}; allowed: text"
    if len(text) > LONGEST_FIELD:
        return f"{name} has {len(text):,} characters; allowed: up to {LONGEST_FIELD:,}"
    if not any(character.isprintable() and not character.isspace() for character in text):
        return f"{name} is empty"
    try:
        text.encode()
    except UnicodeEncodeError as error:  # JSON can spell half of a surrogate pair, which no file can hold
        return f"{name} holds {text[error.start]!r}, which is no character"
    return None


def _fault_of_label(task: Task, label: object) -> str | None:
    if task.labels and label == NO_CONSENSUS:
        return f"{task.label} is '{NO_CONSENSUS}': the annotators did not agree"
    if isinstance(label, str) and (label in task.labels if task.labels else _is_label(task, label.strip())):
        return None
    return f"{task.label} is {_shown(label)}; allowed: {_allowed(task)}"


def _is_label(task: Task, text: str) -> bool:
    if not NUMBER.fullmatch(text):
        return False
    number = float(text)
    return task.lowest <= number <= task.highest if task.kind == "score" else number in range(task.classes)


def _allowed(task: Task) -> str:
    if task.kind == "score":
        return f"a number from {task.lowest:g} to {task.highest:g}"
    return ", ".join(task.labels) or ", ".join(str(index) for index in range(task.classes))


def _shown(value: object) -> str:
    return "missing" if value is None else _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _course(path: Path, task: Task, split: Split) -> Table:
    """Read the course's format: tab separated with a header, quoted fields, doubled quotes, line breaks inside quotes.

    The test files of SST and CFIMDB have one more index column, titled "0": columns are found by name.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    reader = csv.reader(_lines(path), delimiter="\t", strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise DataError(f"{path}:1: not a header of tab-separated columns: {error}") from error
    return Table(_has_labels(path, header, "id", task, split), _course_rows(path, reader, header))


def _course_rows(path: Path, reader: "Reader", header: list[str]) -> Iterator[Record | Refusal]:
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if reader.line_num > line:  # the number of rows inside the open quote is unknown
                raise DataError(
                    f"{path}:{line}: a quoted field starts in this row and does not end properly "
                    f"(read up to line {reader.line_num}: {error}); double the quotation marks inside quoted fields"
                ) from error
            yield Refusal(line, "", f"not a row of tab-separated fields: {error}")
            continue
        if len(fields) == len(header):
            record = dict(zip(header, fields, strict=True))
            yield Record(line, record["id"], record)
        elif fields:  # an empty line is not a row
            lines = f" (lines {line} to {reader.line_num})" if reader.line_num > line else ""
            yield Refusal(line, "", f"it has {len(fields)} fields{lines}; the header has {len(header)}")


def _nli(path: Path, task: Task, split: Split) -> Table:
    """Read the format of SNLI and MNLI: a JSON object on each line, with an id under `pairID`."""
    rows = _nli_rows(path)
    first = next(rows, None)
    if not isinstance(first, Record):
        raise DataError(f"{path}:{first.line if first else 1}: not a file of JSON lines; each line is one JSON object")
    return Table(_has_labels(path, list(first.fields), "pairID", task, split), itertools.chain([first], rows))


def _nli_rows(path: Path) -> Iterator[Record | Refusal]:
    for line, text in enumerate(_lines(path), 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            yield Refusal(line, "", f"not JSON: {error}")
            continue
        if isinstance(record, dict):
            yield Record(line, record.get("pairID"), record)
        else:
            yield Refusal(line, "", f"it is {_shown(record)}; allowed: a JSON object")


def _has_labels(path: Path, columns: list[str], identifier: str, task: Task, split: Split) -> bool:
    """Return whether the file has labels; only test files may lack them. DataError for a missing or doubled column."""
    needed = [identifier, *task.sentences, *([] if split == "test" else [task.label])]
    faulty = [name for name in needed if columns.count(name) != 1]
    if faulty:
        raise DataError(
            f"{path}:1: needs one column each of {', '.join(needed)}; "
            f"missing or doubled: {', '.join(faulty)}; it has {_shown(columns)}"
        )
    return task.label in columns


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their line ends, without a byte order mark; errors name the line."""
    with path.open("rb") as handle:
        for number, line in enumerate(iter(lambda: handle.readline(LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                raise DataError(
                    f"{path}:{number}: the line has more than {LONGEST_LINE:,} bytes; this is not a corpus file"
                )
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}:{number}: byte 0x{line[error.start]:02x} at position {error.start + 1} of the line "
                    "is not UTF-8; files must be UTF-8 text"
                ) from error


FORMATS: dict[str, Callable[[Path, Task, Split], Table]] = {"course": _course, "nli": _nli}
