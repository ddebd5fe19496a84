"""What `mtbert predict` does: sentences or a file in, lines for people or a table out."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mtbert import files, layout
from mtbert.data.records import NumberedRow, decoded, lines, separated, separator_of
from mtbert.errors import DataError, first_of
from mtbert.inference import loading
from mtbert.inference.baseline import Baseline
from mtbert.inference.model import ANY_TASK, Model, fault_of_row
from mtbert.tasks import Task

Values = dict[str, Any]  # a row's, by column
STANDARD = Path("-")  # standard input
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None, "": None}  # by ending; None: plain lines
SHOWN = 10  # most rows in a message


def run(
    model: str, source: list[str] | Path, task: str | None, out: Path | None, seed: int | None, build: Path, device: str
) -> None:
    """Predict the sentences, or those of a file; print the predictions, or write them to `out`."""
    warnings.showwarning = lambda message, *_, **__: _print_aside(f"warning: {message}")
    content = read(source) if isinstance(source, Path) else Content([], None)
    separator = content.separator
    if out is not None:
        separator = _separator(out) or separator
    loaded = loading.load(model, seed, build, device)
    chosen = loaded.task(task)
    if isinstance(source, Path):
        rows = _checked(chosen, content.rows, source)
    else:
        rows = _rows_of_sentences(chosen, source)
    _print_aside(f"{loaded.name}, seed {loaded.seed}, {chosen.name}")
    if layout.data_kind(layout.build_of(loaded.run)) == "sample":
        _print_aside("note: it was trained on the sample's generated sentences alone, and knows no others")
    table = _predict(loaded, chosen, rows)
    text = table.to_csv(None, sep=separator or "\t", index=False)
    if out is not None:
        with files.out_file(out) as partial:
            files.write_text(partial, text)
    elif isinstance(source, Path):
        sys.stdout.write(text)
    else:
        print("\n".join(_in_words(chosen, table.to_dict("records"))))


def _rows_of_sentences(task: Task, sentences: list[str]) -> list[Values]:
    """Return the rows by column; for a task of pairs the two sentences of the command line are one row."""
    if task.is_pair:
        if len(sentences) != len(ANY_TASK):
            raise DataError(f"{task.name} takes two sentences, got {len(sentences)}; for more pairs use --file")
        return [dict(zip(ANY_TASK, sentences, strict=True))]
    return [{"text": sentence} for sentence in sentences]


class Content(NamedTuple):
    """What a file holds: its rows, and what separates the columns; None for plain lines."""

    rows: list[NumberedRow]
    separator: str | None


def read(path: Path) -> Content:
    """Return what a file holds, or standard input for `-`.

    A .csv or .tsv file has a header; a .csv file is separated by commas, semicolons or tabs. In others a
    line is a text.

    Raises:
        DataError: the file is missing, empty, not UTF-8, malformed or of another kind; the message names the line.
    """
    separator = _separator(path)
    name = _shown(path)
    try:
        text = decoded(sys.stdin.buffer.read() if path == STANDARD else path.read_bytes(), name)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from None
    if separator == ",":
        separator = separator_of(text)
    if separator:
        rows = [*separated(text, name, separator)]
    else:
        rows = [NumberedRow(number, {"text": line}) for number, line in enumerate(lines(text), 1)]
    if not rows:
        raise DataError(f"{name} holds no rows")
    return Content(rows, separator)


def _checked(task: Task, rows: list[NumberedRow], path: Path) -> list[Values]:
    """Return the rows' values; DataError with the lines of those whose texts cannot be predicted."""
    columns = _columns(task, [*rows[0].values])
    faults: list[str] = []
    for row in rows:
        if fault := fault_of_row(columns, [row.values[column] for column in columns]):
            faults.append(f"line {row.line}: {fault}")
    if faults:
        raise DataError(f"{_shown(path)}, {first_of(faults, SHOWN)}; each row needs its text")
    return [row.values for row in rows]


def _shown(path: Path) -> str:
    return "standard input" if path == STANDARD else str(path)


def _separator(path: Path) -> str | None:
    ending = path.suffix.lower()
    if ending not in SEPARATORS:
        raise DataError(f"{path}: unknown ending; allowed: {', '.join(filter(None, SEPARATORS))}")
    return SEPARATORS[ending]


def _print_aside(text: str) -> None:
    """Print what is no prediction, to standard error."""
    print(text, file=sys.stderr)


def _columns(task: Task, available: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a task's texts; DataError where they are not there, or there is one too many."""
    accepted = [task.sentences, ANY_TASK[: len(task.sentences)]]
    has_second = not {"text_pair", "sentence2"}.isdisjoint(available)
    if task.is_pair or not has_second:
        for columns in accepted:
            if {*columns} <= {*available}:
                return columns
    allowed = ", or ".join(" and ".join(columns) for columns in accepted)
    raise DataError(f"the rows have the columns {', '.join(available)}; {task.name} needs {allowed}")


def _predict(model: Model | Baseline, task: Task, rows: list[Values]) -> pd.DataFrame:
    """Return the rows as they came with their predictions beside them; warn of rows that were cut."""
    columns = _columns(task, [*rows[0]])
    table = model.predict(task.name, [tuple(row[column] for column in columns) for row in rows])
    if cut := [str(number) for number, is_cut in enumerate(table["cut"], 1) if is_cut]:
        _print_aside(
            f"warning: {len(cut)} of {len(rows)} rows are longer than {model.longest} word pieces and lost "
            f"their end, as in training: row {first_of(cut, SHOWN)}"
        )
    if taken := rows[0].keys() & {*table}:
        raise DataError(f"the rows have columns with names of predictions: {', '.join(sorted(taken))}; rename them")
    return pd.concat([pd.DataFrame(rows), table], axis=1)


def _in_words(task: Task, rows: Sequence[Values]) -> Iterator[str]:
    """Yield lines for people: each row's texts, and below them its prediction."""
    for row in rows:
        yield " | ".join(row[column] for column in ANY_TASK if column in row)
        yield f"  {_prediction_in_words(task, row)}"


def _prediction_in_words(task: Task, row: Values) -> str:
    """Return `2.303 on a scale of 0 to 5`, or each class with its probability, the predicted one first."""
    if task.kind == "score":
        return f"{row['prediction']:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    probabilities = {name: row[f"probability_{number}"] for number, name in enumerate(task.class_names)}
    order = sorted(probabilities, key=lambda name: (name != row["class"], -probabilities[name]))
    return ", ".join(f"{name} {probabilities[name]:.3f}" for name in order)
