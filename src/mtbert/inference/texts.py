"""Read files of texts, and write predictions to files of the same kind: CSV, TSV, JSON lines, plain lines."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mtbert.errors import DataError
from mtbert.records import Record, decoded, json_lines, lines, separated
from mtbert.tasks import Task

Kind = Literal["csv", "tsv", "jsonl", "txt"]
Values = dict[str, Any]  # a row's, by column
STANDARD = Path("-")  # standard input
ENDINGS: dict[str, Kind] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "txt"}
ANY_TASK = ("text", "text_pair")  # columns that every task takes


@dataclass(frozen=True)
class TextFile:
    """The rows of a file.

    Attributes:
        name: the file's name in messages.
        kind: the file's kind.
        rows: all with the same columns, in the file's order; a value that a row lacks is None.
    """

    name: str
    kind: Kind
    rows: list[Values]

    def columns(self, task: Task) -> tuple[str, ...] | None:
        """Return the columns of the texts that the task needs.

        None where it lacks them, or has a second text for a task of single texts.
        """
        if not task.is_pair and self.rows[0].keys() & {"text_pair", "sentence2"}:
            return None
        return next((names for names in _wanted(task) if self.rows[0].keys() >= set(names)), None)

    def texts(self, task: Task) -> list[tuple[Any, ...]]:
        """Return the texts of each row that the task needs; DataError where it lacks their columns."""
        columns = self.columns(task)
        if columns is None:
            wanted = ", or ".join(" and ".join(names) for names in _wanted(task))
            raise DataError(f"{self.name} has the columns {', '.join(self.rows[0])}; {task.name} needs {wanted}")
        return [tuple(row[column] for column in columns) for row in self.rows]


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
    try:
        content = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from None
    text = decoded(content, name)
    if kind == "csv" and chosen is None and "\t" in next(lines(text), ""):
        kind = "tsv"
    rows = [values for _, values in READERS[kind](text, name)]
    if not rows:
        raise DataError(f"{name} holds no rows")
    columns = dict.fromkeys(column for row in rows for column in row)
    return TextFile(name, kind, [columns | row for row in rows])


def _plain(text: str, name: str) -> Iterator[Record]:
    for number, line in enumerate(lines(text), 1):
        fields = line.split("\t")
        if len(fields) > len(ANY_TASK):
            raise DataError(f"{name}, line {number}: {len(fields)} texts with tabs between; allowed: one or two")
        if line.strip():
            yield f"line {number}", named(fields)


def named(texts: Sequence[str]) -> Values:
    """Return one or two texts by the columns that every task takes."""
    return dict(zip(ANY_TASK, texts, strict=False))


READERS: dict[Kind, Callable[[str, str], Iterator[Record]]] = {
    "csv": partial(separated, separator=","),
    "tsv": partial(separated, separator="\t"),
    "jsonl": json_lines,
    "txt": _plain,
}


def joined(rows: Sequence[Values], task: str, predicted: Sequence[Values]) -> list[Values]:
    """Join the rows of a file, `task` and the predictions; DataError where a column of the file has such a name."""
    if taken := rows[0].keys() & {"task", *predicted[0]}:
        raise DataError(f"the rows have columns with names of predictions: {', '.join(sorted(taken))}; rename them")
    return [row | {"task": task} | prediction for row, prediction in zip(rows, predicted, strict=True)]


def written(rows: Sequence[Values], kind: Kind) -> str:
    """Write rows as text of that kind, with all digits; plain lines become TSV.

    JSON has no NaN and no infinity: they become null.
    """
    if kind == "jsonl":
        whole = (json.loads(json.dumps(row), parse_constant=lambda _: None) for row in rows)
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in whole)
    text = io.StringIO()
    columns = dict.fromkeys(column for row in rows for column in row)
    writer = csv.DictWriter(text, [*columns], delimiter="," if kind == "csv" else "\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
