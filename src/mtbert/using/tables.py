"""Files of texts to rows, and predictions to files of the same kind: CSV, TSV, JSON lines, plain lines."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from mtbert.errors import DataError
from mtbert.tasks import Task

Kind = Literal["csv", "tsv", "jsonl", "txt"]
STANDARD = Path("-")  # standard input
ENDINGS: dict[str, Kind] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "txt"}
SEPARATORS = {"csv": ",", "tsv": "\t"}
ANY_TASK = ("text", "text_pair")  # columns that every task takes


@dataclass(frozen=True)
class Given:
    """A file that was read.

    Attributes:
        name: of the file, as messages have it.
        kind: of the file.
        columns: their names, in the file's order.
        records: a mapping from column to value for each row.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    records: list[dict[str, Any]]

    def table(self) -> pd.DataFrame:
        """The rows as they are."""
        return pd.DataFrame(self.records, columns=list(self.columns), dtype=object)

    def fits(self, task: Task) -> bool:
        """Whether it has the columns that the task needs, and no second text that the task has no place for."""
        return self._columns(task) is not None

    def texts(self, task: Task) -> list[tuple[Any, ...]]:
        """The texts of each row that the task needs; DataError where the columns are others."""
        columns = self._columns(task)
        if columns is None:
            wanted = [" and ".join(names) for names in _wanted(task)]
            raise DataError(
                f"{self.name} has the columns {', '.join(self.columns)}; {task.name} needs {', or '.join(wanted)}"
            )
        return [tuple(record.get(column) for column in columns) for record in self.records]

    def _columns(self, task: Task) -> tuple[str, ...] | None:
        pairs = {names[1] for names in (ANY_TASK, ("sentence1", "sentence2"))}
        if not task.is_pair and pairs & set(self.columns):
            return None
        return next((names for names in _wanted(task) if set(names) <= set(self.columns)), None)


def _wanted(task: Task) -> list[tuple[str, ...]]:
    return [task.sentences, ANY_TASK[: len(task.sentences)]]


def kind_of(path: Path, said: Kind | None) -> Kind:
    """The kind of a file to read: what was said, else what its ending says; DataError where neither does."""
    found = said or ENDINGS.get(path.suffix.lower()) or ("txt" if path == STANDARD else None)
    if found is None:
        raise DataError(f"{path}: its ending tells no format; allowed: {', '.join(ENDINGS)}, or --format")
    return found


def read(path: Path, said: Kind | None = None) -> Given:
    """Read a file, or standard input for `-`.

    CSV and TSV have a header; a .csv file whose header holds tabs is read as TSV, as the course's are. A line of JSON
    lines is an object. Plain lines are a text each, or two with a tab between.

    Raises:
        DataError: the file is missing, empty, not UTF-8 or not of that kind; the message has the line.
    """
    kind = kind_of(path, said)
    name = "standard input" if path == STANDARD else str(path)
    text = _decoded(path, name)
    if kind == "csv" and said is None and "\t" in text.partition("\n")[0]:
        kind = "tsv"
    records = list(READERS[kind](text, name))
    if not records:
        raise DataError(f"{name} holds no rows")
    return Given(name, kind, tuple(dict.fromkeys(key for record in records for key in record)), records)


def _decoded(path: Path, name: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(f"{name}, line {line}: not UTF-8 text") from None


def _separated(separator: str) -> Callable[[str, str], Iterator[dict[str, Any]]]:
    def rows(text: str, name: str) -> Iterator[dict[str, Any]]:
        csv.field_size_limit(sys.maxsize)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            header = next(reader, [])
            if doubled := sorted({column for column in header if header.count(column) > 1}):
                raise DataError(f"{name}, line 1: columns come twice: {', '.join(doubled)}")
            for fields in reader:
                if len(fields) == len(header):
                    yield dict(zip(header, fields, strict=True))
                elif fields:  # an empty line is no row
                    said = f"it has {len(fields)} fields, the header {len(header)}"
                    raise DataError(f"{name}, line {reader.line_num}: {said}; quote a text that holds {separator!r}")
        except csv.Error as error:
            raise DataError(f"{name}, line {reader.line_num}: {error}") from None

    return rows


def _json_lines(text: str, name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}, line {number}: not JSON: {error}") from None
        if not isinstance(record, dict):
            raise DataError(f'{name}, line {number}: each line is one JSON object, such as {{"text": "A film."}}')
        yield record


def _lines(text: str, name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) > len(ANY_TASK):
            raise DataError(f"{name}, line {number}: {len(fields)} texts with tabs between; allowed: one or two")
        yield dict(zip(ANY_TASK, fields, strict=False))


READERS: dict[Kind, Callable[[str, str], Iterable[dict[str, Any]]]] = {
    "csv": _separated(","),
    "tsv": _separated("\t"),
    "jsonl": _json_lines,
    "txt": _lines,
}


def joined(before: pd.DataFrame, task: str, predicted: pd.DataFrame) -> pd.DataFrame:
    """Rows as they were given, then `task`, then what was predicted; DataError where a column has such a name."""
    if taken := set(before.columns) & {"task", *predicted.columns}:
        raise DataError(f"the rows have columns that predictions are called: {', '.join(sorted(taken))}; rename them")
    return pd.concat([before.assign(task=task), predicted], axis=1)


def text(blocks: Sequence[pd.DataFrame], kind: Kind) -> str:
    """Tables of predictions, one below the other, as that kind of file, with all digits; plain lines become TSV."""
    if kind == "jsonl":
        records = [record for block in blocks for record in block.astype(object).to_dict("records")]
        return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    together = pd.concat(blocks, ignore_index=True)
    return together.to_csv(index=False, sep=SEPARATORS.get(kind, "\t"), lineterminator="\n")
