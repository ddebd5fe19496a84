"""Readers for the corpora in their own formats: the course's CSV files, JSON lines of SNLI and MNLI, Parquet.

A fault of the file (missing, not UTF-8, not this format, a missing column, a row that cannot be read) is a DataError
with file and line. A fault of a row's values is a refusal: the row is left out, counted, and listed with its line and
the reason. No other row is left out, and no text is changed.

The course's files are read row by row with Python's `csv`, not pandas: pandas reads a question such as "NA" as a
missing value, gives no line numbers, and turns one faulty label into a column of text. Their reviews and questions
were quoted more than once when the files were made. The surplus quotation marks are data, and are kept.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mtbert import records
from mtbert.errors import DataError
from mtbert.tasks import Split, Task

if TYPE_CHECKING:
    import pandas as pd

LONGEST_FIELD = 2**20  # characters
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # float() also takes "nan", "inf" and "1_0"
LONGEST_SHOWN = 60  # characters of a faulty value in a message
NO_CONSENSUS = "-"  # gold_label of SNLI and MNLI where the annotators did not agree
WITHHELD = (None, "", "-1", -1)  # what stands in place of a test file's labels


class Refusal(NamedTuple):
    """A row that is left out: the line it starts on (from 1), and the reason."""

    line: int
    reason: str


class Example(NamedTuple):
    """A row that is kept; `sentence2` is None for one-sentence tasks, `label` where the file has no labels."""

    id: str
    sentence1: str
    sentence2: str | None
    label: float | None
    line: int


def read(data_dir: Path, task: Task, split: Split) -> "pd.DataFrame":
    """Read the usable rows of one split of a task from its file below `data_dir`.

    Returns:
        Columns id, sentence1, sentence2 (strings, null for one-sentence tasks), label (float64, null where the file has
        no labels) and line (int64, from 1, where the row starts).

    Raises:
        DataError: the file is missing, has another format, or holds no usable row.
    """
    import pandas as pd  # takes a fifth of a second, and whoever predicts one sentence does without

    kept = [row for row in stream(data_dir / task.files[split], task, split) if isinstance(row, Example)]
    types = {"id": "string", "sentence1": "string", "sentence2": "string", "label": "float64", "line": "int64"}
    return pd.DataFrame(kept, columns=list(types)).astype(types)


def stream(path: Path, task: Task, split: Split) -> Iterator[Example | Refusal]:
    """Yield the rows of a file one by one, as examples or refusals; DataError where `read` raises it.

    A test file whose first row has no label, an empty one or -1 is a file without labels.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    labelled: bool | None = None
    line_of: dict[str, int] = {}
    first: Refusal | None = None
    for line, fields in FORMATS[task.reader](path, task):
        if labelled is None:
            _check_columns(path, [*fields], task, split)
            labelled = split != "test" or fields.get(task.label) not in WITHHELD
            if not labelled and task.label in fields:
                print(f"{path}: its {task.label} is empty or -1, so it counts as without labels", file=sys.stderr)
        row = _checked(line, fields, task, labelled, line_of)
        if isinstance(row, Refusal):
            first = first or row
        yield row
    if not line_of:
        told = f"; the first refused one, on line {first.line}: {first.reason}" if first else ""
        raise DataError(f"{path}: it holds no row that can be used{told}")


def _checked(
    line: int, fields: dict[str, Any], task: Task, labelled: bool, line_of: dict[str, int]
) -> Example | Refusal:
    """Return the row, whose id is then in `line_of`, or why it is refused."""
    identifier: Any = fields.get(task.id) if task.id else str(line)
    label: Any = fields.get(task.label)
    faults = [fault_of_text(name, fields.get(name)) for name in task.sentences]
    faults.append(fault_of_text("its id", identifier))
    number = _number(task, label) if labelled else None
    if labelled and number is None:
        faults.append(_fault_of_label(task, label))
    elif not labelled and label not in WITHHELD:
        faults.append(f"it has a {task.label}, and the first row has none")
    told = "; ".join(filter(None, faults))
    if not told and (earlier := line_of.setdefault(identifier, line)) != line:
        told = f"its id is that of line {earlier}"
    if told:
        return Refusal(line, told)
    sentences = [fields[name] for name in task.sentences]
    return Example(identifier, sentences[0], sentences[1] if task.is_pair else None, number, line)


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
    except UnicodeEncodeError as error:
        return f"{name} holds {text[error.start]!r}, which is no character"
    return None


def _number(task: Task, label: object) -> float | None:
    """Return a label as a number; None where it is none of the task's."""
    if not isinstance(label, str):
        return None
    if task.labels:
        return task.labels.get(label)
    number = float(label) if NUMBER.fullmatch(label.strip()) else math.nan
    fits = task.lowest <= number <= task.highest if task.kind == "score" else number in range(task.classes)
    return number if fits else None


def _fault_of_label(task: Task, label: object) -> str:
    if task.labels and label == NO_CONSENSUS:
        return f"{task.label} is '{NO_CONSENSUS}': the annotators did not agree"
    allowed = ", ".join(task.labels) or ", ".join(map(str, range(task.classes)))
    if task.kind == "score":
        allowed = f"a number from {task.lowest:g} to {task.highest:g}"
    return f"{task.label} is {_shown(label)}; allowed: {allowed}"


def _shown(value: object) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _parquet(path: Path, task: Task) -> Iterator[records.Record]:
    """Read a Parquet file, as the model hub has data sets; a row's number is its line, and numbers become text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(columns=[*filter(None, [task.id]), *task.sentences, task.label]):
                for record in batch.to_pylist():
                    number += 1
                    yield (
                        number,
                        {name: str(one) if isinstance(one, int | float) else one for name, one in record.items()},
                    )
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a whole Parquet file: {' '.join(str(error).split())}") from None


def _check_columns(path: Path, columns: list[str], task: Task, split: Split) -> None:
    """Raise DataError for a missing column; only test files may lack labels."""
    needed = [*filter(None, [task.id]), *task.sentences, *([] if split == "test" else [task.label])]
    if faulty := [name for name in needed if name not in columns]:
        raise DataError(
            f"{path} needs the columns {', '.join(needed)}; missing: {', '.join(faulty)}; it has {_shown(columns)}"
        )


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their line ends, without a byte order mark; errors name the line."""
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(f"{path}, line {number}: {error}; files must be UTF-8 text") from None


# Rows with the line on which each starts. The course's format is tab separated with a header, quoted fields, doubled
# quotes, line breaks inside quotes; test files of SST and CFIMDB have one more index column, titled "0". SNLI and MNLI
# have a JSON object on each line.
FORMATS: dict[str, Callable[[Path, Task], Iterator[records.Record]]] = {
    "course": lambda path, _: records.separated(_lines(path), str(path), "\t"),
    "nli": lambda path, _: records.json_lines(_lines(path), str(path)),
    "parquet": _parquet,
}
