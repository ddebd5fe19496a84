"""What `mtbert predict` does: sentences or a file in, lines for people or a table out."""

import json
import math
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
from mtbert.inference.answers import ANY_TASK, CUT, PROBABILITY, fault_of_row, in_one
from mtbert.inference.ensemble import Ensemble
from mtbert.inference.model import SHOWN, Model
from mtbert.provenance import why
from mtbert.scores import predictions, sets
from mtbert.scores.columns import Frame
from mtbert.scores.described import BASELINES
from mtbert.tasks import Task

if TYPE_CHECKING:
    from mtbert.inference.baseline import Baseline

_Values = dict[str, Any]  # a row's, by column
STANDARD = Path("-")  # standard input
JSON = "JSON lines"
SEPARATORS = {
    ".csv": ",",
    ".tsv": "\t",
    ".jsonl": JSON,
    ".txt": None,
    "": None,
}  # by ending: a separator; None: plain lines
UNSURE = "not sure"  # in place of a class below --at-least
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
    at_least: float | None = None,
) -> None:
    """Predict the sentences, or those of a file in that encoding; print the predictions, or write them to `out`.

    A class whose probability is below `at_least` is left empty; DataError for scores, which have no probability.
    """
    warnings.showwarning = lambda message, *_, **__: _print_aside(f"warning: {message}")
    content = read(source, encoding) if isinstance(source, Path) else Content([], None)
    form = content.form
    if out is not None:
        form = _form(out) or form
    loaded = loading.load_any(model, seed, build, device)
    of_all = task is None and len(loaded.tasks) > 1
    tasks = [loaded.task(name) for name in loaded.tasks] if of_all else [loaded.task(task)]
    if isinstance(source, Path):
        asked = _with_columns(tasks, [*dict.fromkeys(name for row in content.rows for name in row.values)])
        rows = _checked(asked, content.rows, source)
    else:
        rows = _rows_of_sentences(tasks, source)
        asked = _with_columns(tasks, [*rows[0]])
    _print_aside(f"{loaded.name}, seed {loaded.seed}, {', '.join(one.task.name for one in asked)}")
    if others := [one.name for one in tasks if one not in [each.task for each in asked]]:
        _print_aside(f"note: not asked, since they take other rows: {', '.join(others)}")
    if layout.data_kind(layout.build_of(loaded.run)) == "sample":
        _print_aside("note: it was trained on the sample's generated sentences alone, and knows no others")
    _print_changes(loaded)
    predicted = _sure(loaded, asked, rows, of_all, at_least)
    text = _as_text(predicted, form or "\t", [one.task for one in asked], of_all)
    if out is not None:
        with files.out_file(out) as partial:
            files.write_text(partial, text)
    elif isinstance(source, Path):
        sys.stdout.write(text)
    else:
        print("\n".join(_in_words([one.task for one in asked], predicted, of_all)))


def _print_aside(text: str) -> None:
    """Print what is no prediction, to standard error."""
    print(text, file=sys.stderr)


def _print_changes(model: "Model | Baseline | Ensemble") -> None:
    """Say in what the inputs of a model, or of each that votes, differ from those of now."""
    for member in model.members if isinstance(model, Ensemble) else [model]:
        for note in why.notes([member.run]):
            _print_aside(f"note: {note}")


def _check_probabilities(model: "Model | Baseline | Ensemble", tasks: Sequence[Task]) -> None:
    """Raise DataError where a task is a score; say which tasks have probabilities that no held-out rows corrected."""
    what = {"score": "a score, which has no probability", "sets": "several labels a row, each by its own threshold"}
    if faults := [f"{task.name} predicts {what[task.kind]}" for task in tasks if task.kind in what]:
        with_classes = [name for name in model.tasks if model.task(name).has_one_class]
        remedy = f"Name one by --task: {', '.join(with_classes)}" if with_classes else "Leave --at-least out"
        raise DataError(f"--at-least is for tasks with one class a row; {'; '.join(faults)}. {remedy}")
    members = model.members if isinstance(model, Ensemble) else [model]
    reason = "was trained without held-out rows (profile own holds rows out)"
    if model.name in BASELINES:
        reason = "is a baseline, which holds no rows out"
    calibrated = [{*getattr(member.metrics, "temperatures", {})} for member in members]
    if others := [task.name for task in tasks if not all(task.name in names for names in calibrated)]:
        _print_aside(f"note: the probabilities of {', '.join(others)} are not calibrated, since {model.name} {reason}")


def _without_unsure(row: _Values, tasks: Sequence[Task], at_least: float, of_all: bool) -> _Values:
    """Return a row where the classes whose probability is below `at_least` are None."""
    unsure: list[str] = []
    for task in tasks:
        if of_all and row[task.name + PROBABILITY] < at_least:
            unsure.append(task.name)
        elif not of_all and max(row[name] for name in predictions.probability_columns(task)) < at_least:
            unsure += ["prediction", "class"]
    return row | dict.fromkeys(unsure)


def _cell(column: str, value: Any) -> Any:
    """Return a value of a column as CSV holds it: JSON of a list, an object, true and false; `cut` is ours."""
    is_structure = isinstance(value, list | dict | bool) and column != CUT
    return json.dumps(value, ensure_ascii=False) if is_structure else value


def _as_text(rows: Sequence[_Values], form: str, tasks: Sequence[Task], of_all: bool) -> str:
    """Return rows as the text of a file: CSV by a separator, or JSON lines."""
    if form == JSON:
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    rows = _without_lists(tasks, rows, of_all)
    rows = [{column: _cell(column, value) for column, value in row.items()} for row in rows]
    columns = dict.fromkeys(column for row in rows for column in row)
    return as_separated([*columns], rows, form)


def _without_lists(tasks: Sequence[Task], rows: Sequence[_Values], of_all: bool) -> list[_Values]:
    """Return rows with each list of labels as one text, as the task's files write it: CSV has no lists."""
    columns = {task.name if of_all else "prediction": task for task in tasks if task.several}
    return [row | {column: sets.as_text(task, row[column]) for column, task in columns.items()} for row in rows]


class TaskColumns(NamedTuple):
    """A task that is asked, and the columns of its texts."""

    task: Task
    columns: tuple[str, ...]


def _with_columns(tasks: Sequence[Task], available: Sequence[str]) -> list[TaskColumns]:
    """Return the tasks whose texts these columns hold, with their columns; DataError where there is none."""
    asked: list[TaskColumns] = []
    faults: list[DataError] = []
    for task in tasks:
        try:
            asked.append(TaskColumns(task, _columns(task, available)))
        except DataError as fault:
            faults.append(fault)
    if not asked:
        raise faults[0]
    return asked


def _rows_of_sentences(tasks: Sequence[Task], sentences: list[str]) -> list[_Values]:
    """Return the rows by column; where all tasks take pairs the two sentences of the command line are one row."""
    if all(task.is_pair for task in tasks):
        if len(sentences) != len(ANY_TASK):
            names = ", ".join(task.name for task in tasks)
            raise DataError(f"{names} takes two sentences, got {len(sentences)}; for more pairs use --file")
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
        for row in rows:
            _check_numbers(row, name)
    elif form:
        rows = [*separated(text, name, form)]
    else:
        rows = [NumberedRow(number, {"text": line}) for number, line in enumerate(lines(text), 1)]
    if not rows:
        raise DataError(f"{name} holds no rows")
    return Content(rows, form)


def _checked(asked: Sequence[TaskColumns], rows: list[NumberedRow], path: Path) -> list[_Values]:
    """Return the rows' values; DataError with the lines of those whose texts cannot be predicted."""
    faults: list[str] = []
    for row in rows:
        if repeats_header(row.values):
            faults.append(f"line {row.line}: it repeats the header")
            continue
        for columns in dict.fromkeys(one.columns for one in asked):
            if fault := fault_of_row(columns, [row.values.get(column) for column in columns]):
                faults.append(f"line {row.line}: {fault}")
    if faults:
        raise DataError(f"{_source_name(path)}, {first_of(faults, SHOWN)}; each row needs its text")
    return [row.values for row in rows]


def _check_numbers(row: NumberedRow, name: str) -> None:
    """Raise DataError where a row holds a number that JSON does not have: Python reads NaN, and 1e999 as infinity."""
    for column, value in row.values.items():
        if not _is_finite(value):
            allowed = "allowed: null, or another number"
            raise DataError(f"{name}, line {row.line}: {column} holds NaN or an infinity, which JSON lacks; {allowed}")


def _is_finite(value: Any) -> bool:
    """Return whether all numbers in a value of JSON are finite."""
    if isinstance(value, list | dict):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def _source_name(path: Path) -> str:
    return "standard input" if path == STANDARD else str(path)


def _form(path: Path) -> str | None:
    ending = path.suffix.lower()
    if ending not in SEPARATORS:
        raise DataError(f"{path}: unknown ending; allowed: {', '.join(filter(None, SEPARATORS))}")
    return SEPARATORS[ending]


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


def _sure(
    model: "Model | Baseline | Ensemble",
    asked: Sequence[TaskColumns],
    rows: list[_Values],
    of_all: bool,
    least: float | None,
) -> list[_Values]:
    """Return what `_predict` does, without the classes whose probability is below `least`; all where that is None."""
    if least is None:
        return _predict(model, asked, rows, of_all)
    tasks = [one.task for one in asked]
    _check_probabilities(model, tasks)
    return [_without_unsure(row, tasks, least, of_all) for row in _predict(model, asked, rows, of_all)]


def _predict(
    model: "Model | Baseline | Ensemble", asked: Sequence[TaskColumns], rows: list[_Values], of_all: bool
) -> list[_Values]:
    """Return the rows as they came with their predictions beside them; warn of rows that were cut.

    The predictions are the table of one task, or with `of_all` the answers of several side by side.
    """
    if taken := {column for row in rows for column in row} & {*_table(model, asked, rows[:1], of_all)}:
        remedy = "rename them, or name one task by --task" if of_all else "rename them"
        raise DataError(f"the rows have columns with names of predictions: {', '.join(sorted(taken))}; {remedy}")
    table = _table(model, asked, rows, of_all)
    if cut := [str(number) for number, is_cut in enumerate(table["cut"], 1) if is_cut]:
        _print_aside(
            f"warning: {len(cut)} of {len(rows)} rows are longer than {model.longest} word pieces and lost "
            f"their end, as in training: row {first_of(cut, SHOWN)}"
        )
    return [row | predicted for row, predicted in zip(rows, table.to_dict("records"), strict=True)]


def _table(
    model: "Model | Baseline | Ensemble", asked: Sequence[TaskColumns], rows: list[_Values], of_all: bool
) -> Frame:
    """Return the predictions of the rows alone, as of `_predict`."""
    tables: dict[str, Frame] = {}
    for columns in dict.fromkeys(one.columns for one in asked):
        names = [one.task.name for one in asked if one.columns == columns]
        tables |= model.tables(names, [tuple(row[column] for column in columns) for row in rows])
    return in_one([one.task for one in asked], tables) if of_all else tables[asked[0].task.name]


def _in_words(tasks: Sequence[Task], rows: Sequence[_Values], of_all: bool) -> Iterator[str]:
    """Yield lines for people: each row's texts, and below them its prediction, or that of each task."""
    for row in rows:
        yield " | ".join(row[column] for column in ANY_TASK if column in row)
        for task in tasks:
            yield f"  {task.name}: {_answer_in_words(task, row)}" if of_all else f"  {_prediction_in_words(task, row)}"


def _answer_in_words(task: Task, row: _Values) -> str:
    """Return `2.303 on a scale of 0 to 5`, or the class and its probability, or each label."""
    if task.several:
        return _labels_in_words(task, row[task.name], row, f"{task.name}_probability_")
    if task.kind == "score":
        return f"{row[task.name]:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    answer = UNSURE if row[task.name] is None else row[task.name]
    return f"{answer} {row[task.name + PROBABILITY]:.3f}"


def _prediction_in_words(task: Task, row: _Values) -> str:
    """Return `2.303 on a scale of 0 to 5`, or each class with its probability, the predicted one first."""
    if task.kind == "score":
        return f"{row['prediction']:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    if task.several:
        return _labels_in_words(task, row["prediction"], row, "probability_")
    probabilities = {name: row[f"probability_{number}"] for number, name in enumerate(task.class_names)}
    order = sorted(probabilities, key=lambda name: (name != row["class"], -probabilities[name]))
    by_probability = ", ".join(f"{name} {probabilities[name]:.3f}" for name in order)
    return f"{UNSURE}: {by_probability}" if row["class"] is None else by_probability


def _labels_in_words(task: Task, labels: Sequence[str], row: _Values, prefix: str) -> str:
    """Return the labels of a row and then the others, each with its probability: `joy 0.912; not fear 0.204`."""
    probabilities = {name: row[f"{prefix}{number}"] for number, name in enumerate(task.class_names)}
    order = sorted(probabilities, key=lambda name: -probabilities[name])
    words = {name: f"{name} {probabilities[name]:.3f}" for name in order}
    has = ", ".join(words[name] for name in order if name in labels) or "no label"
    others = ", ".join(words[name] for name in order if name not in labels)
    return f"{has}; not {others}" if others else has
