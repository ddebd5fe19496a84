"""Read files of texts, and write predictions to files of the same kind: CSV, TSV, JSON lines, plain lines."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from mtbert.errors import DataError
from mtbert.records import Record, decoded, json_lines, lines, separated
from mtbert.tasks import Task

Kind = Literal["csv", "tsv", "jsonl", "txt"]
STANDARD = Path("-")  # standard input
ENDINGS: dict[str, Kind] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "txt"}
SEPARATORS = {"csv": ",", "tsv": "\t"}
ANY_TASK = ("text", "text_pair")  # columns that every task takes


@dataclass(frozen=True)
class TextFile:
    """The rows of a file.

    Attributes:
        name: the file's name in messages.
        kind: the file's kind.
        columns: names of the columns, in the file's order.
        records: a mapping from column to value for each row.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    records: list[dict[str, Any]]

    def table(self) -> pd.DataFrame:
        """Return the rows as a table; a value that a row lacks is None."""
        rows = [{column: record.get(column) for column in self.columns} for record in self.records]
        return pd.DataFrame(rows, columns=list(self.columns), dtype=object)

    def fits(self, task: Task) -> bool:
        """Return whether it has the columns that the task needs, and no second text for a task of single texts."""
        return self._columns(task) is not None

    def texts(self, task: Task) -> list[tuple[Any, ...]]:
        """Return the texts of each row that the task needs; DataError where it lacks their columns."""
        columns = self._columns(task)
        if columns is None:
            wanted = ", or ".join(" and ".join(names) for names in _wanted(task))
            raise DataError(f"{self.name} has the columns {', '.join(self.columns)}; {task.name} needs {wanted}")
        return [tuple(record.get(column) for column in columns) for record in self.records]

    def _columns(self, task: Task) -> tuple[str, ...] | None:
        if not task.is_pair and {"text_pair", "sentence2"} & set(self.columns):
            return None
        return next((names for names in _wanted(task) if set(names) <= set(self.columns)), None)


def _wanted(task: Task) -> list[tuple[str, ...]]:
    return [task.sentences, ANY_TASK[: len(task.sentences)]]


def read(path: Path, chosen: Kind | None = None) -> TextFile:
    """Read a file, or standard input for `-`.

    CSV and TSV have a header; a .csv file whose header holds tabs is read as TSV, like the course's. Each line of JSON
    lines is an object. A plain line is a text, or two texts with a tab between.

    Raises:
        DataError: the file is missing, empty, not UTF-8 or of another kind; the message names the line.
    """
    kind = chosen or ENDINGS.get(path.suffix.lower()) or ("txt" if path == STANDARD else None)
    if kind is None:
        raise DataError(f"{path}: unknown ending; allowed: {', '.join(ENDINGS)}, or --format")
    name = "standard input" if path == STANDARD else str(path)
    text = decoded(_content(path, name), name)
    if kind == "csv" and chosen is None and "\t" in next(lines(text), ""):
        kind = "tsv"
    records = [values for _, values in READERS[kind](text, name)]
    if not records:
        raise DataError(f"{name} holds no rows")
    return TextFile(name, kind, tuple(dict.fromkeys(key for record in records for key in record)), records)


def _content(path: Path, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from None


def _plain(text: str, name: str) -> Iterator[Record]:
    for number, line in enumerate(lines(text), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) > len(ANY_TASK):
            raise DataError(f"{name}, line {number}: {len(fields)} texts with tabs between; allowed: one or two")
        yield f"line {number}", dict(zip(ANY_TASK, fields, strict=False))


READERS: dict[Kind, Callable[[str, str], Iterator[Record]]] = {
    "csv": partial(separated, separator=SEPARATORS["csv"]),
    "tsv": partial(separated, separator=SEPARATORS["tsv"]),
    "jsonl": json_lines,
    "txt": _plain,
}


def plain(rows: Sequence[tuple[str, ...]]) -> pd.DataFrame:
    """Return rows of one or two texts as a table."""
    return pd.DataFrame(list(rows), columns=list(ANY_TASK[: len(rows[0])]), dtype=object)


def joined(before: pd.DataFrame, task: str, predicted: pd.DataFrame) -> pd.DataFrame:
    """Join the rows of a file, `task` and the predictions; DataError where a column of the file has such a name."""
    if taken := set(before.columns) & {"task", *predicted.columns}:
        raise DataError(f"the rows have columns with names of predictions: {', '.join(sorted(taken))}; rename them")
    return pd.concat([before.assign(task=task), predicted], axis=1)


def written(blocks: Sequence[pd.DataFrame], kind: Kind) -> str:
    """Write tables of predictions below each other as text of that kind, with all digits; plain lines become TSV.

    JSON has no NaN and no infinity: they become null.
    """
    if kind == "jsonl":
        records = [record for block in blocks for record in block.astype(object).to_dict("records")]
        written = (json.dumps(_in_json(record), ensure_ascii=False, allow_nan=False) for record in records)
        return "".join(f"{line}\n" for line in written)
    together = pd.concat(blocks, ignore_index=True)
    return together.to_csv(index=False, sep=SEPARATORS.get(kind, "\t"), lineterminator="\n")


def _in_json(value: Any) -> Any:
    """Return the value with null for every number in it that JSON lacks."""
    if isinstance(value, dict):
        return {key: _in_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
