"""What `mtbert predict` does: sentences or a file in, lines for people or a table out."""

import csv
import io
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mtbert import command, files
from mtbert.errors import DataError, first_of
from mtbert.inference import loading
from mtbert.inference.predicting import Model, class_names
from mtbert.records import decoded, lines, separated
from mtbert.tasks import TASKS, Task

Values = dict[str, Any]  # a row's, by column
STANDARD = Path("-")  # standard input
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None, "": None}  # by ending; None: plain lines
ANY_TASK = ("text", "text_pair")  # columns that every task takes
SHOWN = 10  # most cut rows in a message


def run(
    model: str,
    source: list[str] | Path,
    task: str | None,
    out: Path | None,
    seed: int | None,
    build: Path,
    device: str,
) -> None:
    """Predict the sentences, or those of a file; print the predictions, or write them to `out`."""
    warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
    given, separator = read(source) if isinstance(source, Path) else (source, None)
    if out is not None:
        separator = _separator(out) or separator
    predictor = loading.load(model, seed, build, device)
    _say(f"{predictor.name}, seed {predictor.seed}")
    predicted = [row for name in _tasks(predictor, given, task) for row in _predicted(predictor, name, given)]
    if isinstance(source, list) and out is None:
        print("\n".join(_in_words(predicted)))
        return
    text = written(predicted, separator or "\t")
    if out is None:
        command.write_data(text)
    else:
        with files.out_file(out) as partial:
            files.write_text(partial, text)


def read(path: Path) -> tuple[list[Values], str | None]:
    """Return the rows of a file, or of standard input for `-`, by column, and what separates the columns.

    A .csv or .tsv file has a header; a .csv file whose header holds tabs is read as TSV, like the course's. In others a
    line is a text, or two texts with a tab between.

    Raises:
        DataError: the file is missing, empty, not UTF-8, malformed or of another kind; the message names the line.
    """
    separator = _separator(path)
    name = "standard input" if path == STANDARD else str(path)
    try:
        text = decoded(sys.stdin.buffer.read() if path == STANDARD else path.read_bytes(), name)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from None
    if separator == "," and "\t" in next(lines(text), ""):
        separator = "\t"
    rows = [values for _, values in separated(text, name, separator)] if separator else _plain(text, name)
    if not rows:
        raise DataError(f"{name} holds no rows")
    return rows, separator


def _separator(path: Path) -> str | None:
    if (ending := path.suffix.lower()) not in SEPARATORS:
        raise DataError(f"{path}: unknown ending; allowed: {', '.join(filter(None, SEPARATORS))}")
    return SEPARATORS[ending]


def _plain(text: str, name: str) -> list[Values]:
    texts = [line.split("\t") for line in lines(text)]
    for number, row in enumerate(texts, 1):
        if len(row) > len(ANY_TASK):
            raise DataError(f"{name}, line {number}: {len(row)} texts with tabs between; allowed: one or two")
    columns = ANY_TASK[: max(map(len, texts), default=1)]
    empty: Values = dict.fromkeys(columns)
    return [empty | dict(zip(columns, row, strict=False)) for row in texts if "".join(row).strip()]


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _tasks(predictor: Model, given: list[str] | list[Values], task: str | None) -> list[str]:
    """Return the tasks to predict: the one that was named, or all that the texts fit."""
    if task is not None or len(predictor.tasks) == 1:
        return [task or predictor.tasks[0]]
    fitting = [name for name in predictor.tasks if _columns(TASKS[name], _rows(TASKS[name], given))]
    if fitting and (left := [name for name in predictor.tasks if name not in fitting]):
        _say(f"left out, since the texts do not fit: {', '.join(left)}")
    return fitting or [*predictor.tasks]  # which say what they need


def _rows(task: Task, given: list[str] | list[Values]) -> list[Values]:
    """Return the rows by column; two sentences of the command line are one row for a task of pairs."""
    rows = [{"text": one} if isinstance(one, str) else one for one in given]
    if task.is_pair and len(given) == 2 and isinstance(given[0], str):
        return [{"text": given[0], "text_pair": given[1]}]
    return rows


def _columns(task: Task, rows: Sequence[Values]) -> tuple[str, ...]:
    """Return the columns of a task's texts; none where they are not there, or there is one too many."""
    if not task.is_pair and rows[0].keys() & {"text_pair", "sentence2"}:
        return ()
    wanted = task.sentences, ANY_TASK[: len(task.sentences)]
    return next((names for names in wanted if rows[0].keys() >= set(names)), ())


def _predicted(predictor: Model, name: str, given: list[str] | list[Values]) -> list[Values]:
    """Return the rows as they came with their predictions; warn of rows that were cut."""
    task = predictor.task(name)
    rows = _rows(task, given)
    if not (columns := _columns(task, rows)):
        wanted, or_these = " and ".join(task.sentences), " and ".join(ANY_TASK[: len(task.sentences)])
        raise DataError(f"the rows have the columns {', '.join(rows[0])}; {name} needs {wanted}, or {or_these}")
    table = predictor.columns(name, [tuple(row[column] for column in columns) for row in rows])
    if cut := [str(number) for number, is_cut in enumerate(table["cut"], 1) if is_cut]:
        _say(
            f"warning: {name}: {len(cut)} of {len(rows)} rows are longer than {predictor.longest} word pieces and lost "
            f"their end, as in training: row {first_of(cut, SHOWN)}"
        )
    if taken := rows[0].keys() & {"task", *table}:
        raise DataError(f"the rows have columns with names of predictions: {', '.join(sorted(taken))}; rename them")
    predictions = zip(*(values.tolist() for values in table.values()), strict=True)
    return [row | {"task": name} | dict(zip(table, of, strict=True)) for row, of in zip(rows, predictions, strict=True)]


def written(rows: Sequence[Values], separator: str) -> str:
    """Write rows as text with a header, with all digits; a column of the one task is empty in rows of the other."""
    text = io.StringIO()
    columns = dict.fromkeys(column for row in rows for column in row)
    writer = csv.DictWriter(text, [*columns], delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _in_words(rows: Sequence[Values]) -> Iterator[str]:
    """Yield lines for people: each row's texts, and below them the prediction for each task."""
    by_texts: dict[str, list[str]] = {}
    for row in rows:
        shown = " | ".join(row[column] for column in ANY_TASK if column in row)
        by_texts.setdefault(shown, []).append(f"  {row['task']}: {_verdict(TASKS[row['task']], row)}")
    for shown, verdicts in by_texts.items():
        yield shown
        yield from verdicts


def _verdict(task: Task, row: Values) -> str:
    """Return `2.303 on a scale of 0 to 5`, or each class with its probability, the predicted one first."""
    if task.kind == "score":
        return f"{row['prediction']:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    probabilities = {name: row[f"probability_{number}"] for number, name in enumerate(class_names(task))}
    order = sorted(probabilities, key=lambda name: (name != row["class"], -probabilities[name]))
    return ", ".join(f"{name} {probabilities[name]:.3f}" for name in order)
