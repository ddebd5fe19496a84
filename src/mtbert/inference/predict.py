"""What `mtbert predict` does: sentences or a file in, lines for people or a table out."""

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mtbert import files, layout
from mtbert.data.records import (
    NumberedRow,
    as_separated,
    decoded,
    json_lines,
    lines,
    repeats_header,
    separated,
    separator_of,
)
from mtbert.errors import DataError, first_of
from mtbert.inference import loading
from mtbert.inference.ensemble import Ensemble
from mtbert.inference.model import ANY_TASK, Model, fault_of_row
from mtbert.provenance import why
from mtbert.tasks import Task

if TYPE_CHECKING:
    from mtbert.inference.baseline import Baseline

Values = dict[str, Any]  # a row's, by column
STANDARD = Path("-")  # standard input
JSON = "JSON lines"
FORMS = {".csv": ",", ".tsv": "\t", ".jsonl": JSON, ".txt": None, "": None}  # by ending: a separator; None: plain lines
SHOWN = 10  # most rows in a message
ENCODING = "utf-8"  # where none is given, and of the output
REMEDY = "; name its encoding, such as --encoding cp1252, or save it as UTF-8"


def run(
    model: str,
    source: list[str] | Path,
    task: str | None,
    out: Path | None,
    seed: int | None,
    build: Path,
    device: str,
    encoding: str = ENCODING,
) -> None:
    """Predict the sentences, or those of a file in that encoding; print the predictions, or write them to `out`."""
    warnings.showwarning = lambda message, *_, **__: _print_aside(f"warning: {message}")
    content = read(source, encoding) if isinstance(source, Path) else Content([], None)
    form = content.form
    if out is not None:
        form = _form(out) or form
    loaded = loading.load_any(model, seed, build, device)
    chosen = loaded.task(task)
    if isinstance(source, Path):
        rows = _checked(chosen, content.rows, source)
    else:
        rows = _rows_of_sentences(chosen, source)
    _print_aside(f"{loaded.name}, seed {loaded.seed}, {chosen.name}")
    if layout.data_kind(layout.build_of(loaded.run)) == "sample":
        _print_aside("note: it was trained on the sample's generated sentences alone, and knows no others")
    for member in loaded.members if isinstance(loaded, Ensemble) else [loaded]:
        _note_changes(member)
    predicted = _predict(loaded, chosen, rows)
    text = _as_text(predicted, form or "\t")
    if out is not None:
        with files.out_file(out) as partial:
            files.write_text(partial, text)
    elif isinstance(source, Path):
        sys.stdout.write(text)
    else:
        print("\n".join(_in_words(chosen, predicted)))


def _note_changes(model: "Model | Baseline") -> None:
    """Say in what the model's inputs differ from those of now: `dvc repro` would train it again, or does so now."""
    try:
        causes = why.of_run(model.run)
    except DataError as error:  # the prediction does not need these files
        _print_aside(f"note: whether {model.name}, seed {model.seed}, is of the present settings is unknown: {error}")
        return
    if causes:
        changes = first_of([why.in_words(cause) for cause in causes], why.SHOWN)
        _print_aside(
            f"note: {model.name}, seed {model.seed}, was trained before these changed: {changes}; "
            f"`{layout.remedy(model.run)}` trains it again (mtbert why {model.name})"
        )


def _as_text(rows: Sequence[Values], form: str) -> str:
    """Return rows as the text of a file: CSV by a separator, or JSON lines."""
    if form == JSON:
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    columns = dict.fromkeys(column for row in rows for column in row)
    return as_separated([*columns], rows, form)


def _rows_of_sentences(task: Task, sentences: list[str]) -> list[Values]:
    """Return the rows by column; for a task of pairs the two sentences of the command line are one row."""
    if task.is_pair:
        if len(sentences) != len(ANY_TASK):
            raise DataError(f"{task.name} takes two sentences, got {len(sentences)}; for more pairs use --file")
        return [dict(zip(ANY_TASK, sentences, strict=True))]
    return [{"text": sentence} for sentence in sentences]


class Content(NamedTuple):
    """What a file holds: its rows, and its form: what separates the columns, or JSON; None for plain lines."""

    rows: list[NumberedRow]
    form: str | None


def read(path: Path, encoding: str = ENCODING) -> Content:
    """Return what a file holds, or standard input for `-`.

    A .csv or .tsv file has a header; a .csv file is separated by commas, semicolons or tabs. A line of a .jsonl file is
    an object. In others a line is a text.

    Raises:
        DataError: the file is missing, empty, of another encoding, malformed or of another kind; the message names the
            line.
    """
    form = _form(path)
    name = _source_name(path)
    try:
        text = decoded(sys.stdin.buffer.read() if path == STANDARD else path.read_bytes(), name, encoding, REMEDY)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from None
    if form == ",":
        form = separator_of(text)
    if form == JSON:
        rows = [*json_lines(text, name)]
    elif form:
        rows = [*separated(text, name, form)]
    else:
        rows = [NumberedRow(number, {"text": line}) for number, line in enumerate(lines(text), 1)]
    if not rows:
        raise DataError(f"{name} holds no rows")
    return Content(rows, form)


def _checked(task: Task, rows: list[NumberedRow], path: Path) -> list[Values]:
    """Return the rows' values; DataError with the lines of those whose texts cannot be predicted."""
    columns = _columns(task, [*rows[0].values])
    faults: list[str] = []
    for row in rows:
        if repeats_header(row.values):
            faults.append(f"line {row.line}: it repeats the header")
        elif fault := fault_of_row(columns, [row.values.get(column) for column in columns]):
            faults.append(f"line {row.line}: {fault}")
    if faults:
        raise DataError(f"{_source_name(path)}, {first_of(faults, SHOWN)}; each row needs its text")
    return [row.values for row in rows]


def _source_name(path: Path) -> str:
    return "standard input" if path == STANDARD else str(path)


def _form(path: Path) -> str | None:
    ending = path.suffix.lower()
    if ending not in FORMS:
        raise DataError(f"{path}: unknown ending; allowed: {', '.join(filter(None, FORMS))}")
    return FORMS[ending]


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


def _predict(model: "Model | Baseline | Ensemble", task: Task, rows: list[Values]) -> list[Values]:
    """Return the rows as they came with their predictions beside them; warn of rows that were cut."""
    columns = _columns(task, [*rows[0]])
    table = model.predict(task.name, [tuple(row[column] for column in columns) for row in rows])
    if cut := [str(number) for number, is_cut in enumerate(table["cut"], 1) if is_cut]:
        _print_aside(
            f"warning: {len(cut)} of {len(rows)} rows are longer than {model.longest} word pieces and lost "
            f"their end, as in training: row {first_of(cut, SHOWN)}"
        )
    if taken := {column for row in rows for column in row} & {*table}:
        raise DataError(f"the rows have columns with names of predictions: {', '.join(sorted(taken))}; rename them")
    return [row | predicted for row, predicted in zip(rows, table.to_dict("records"), strict=True)]


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
