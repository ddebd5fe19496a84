"""What `mtbert predict` does: sentences or a file in, lines for people or a file out."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mtbert import command, files
from mtbert.errors import DataError, first_of
from mtbert.inference import loading, texts
from mtbert.inference.predicting import Predictor, class_names
from mtbert.inference.texts import Kind, TextFile, Values
from mtbert.tasks import TASKS, Task

SHOWN = 10  # most cut rows in a message


def run(
    model: str,
    source: list[str] | Path,
    task: str | None,
    every: bool,
    out: Path | None,
    kind: Kind | None,
    seed: int | None,
    build: Path,
    device: str,
) -> None:
    """Predict the sentences, or those of a file; print the predictions, or write them to `out`."""
    warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
    given = texts.read(source, kind) if isinstance(source, Path) else source
    predictor = loading.load(model, seed, build, device)
    _say(f"{predictor.name}, seed {predictor.seed}")
    predicted = [row for name in _tasks(predictor, given, task, every) for row in _predicted(predictor, name, given)]
    if isinstance(given, list) and out is None and kind is None:
        print("\n".join(_in_words(predicted)))
        return
    ending = out and texts.ENDINGS.get(out.suffix.lower())
    text = texts.written(predicted, ending or kind or (given.kind if isinstance(given, TextFile) else "tsv"))
    if out is None:
        command.write_data(text)
    else:
        with files.out_file(out) as partial:
            files.write_text(partial, text)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _tasks(predictor: Predictor, given: list[str] | TextFile, task: str | None, every: bool) -> list[str]:
    """Return the tasks to predict: the one that was named, or all that the texts fit."""
    if task is not None or len(predictor.tasks) == 1:
        return [task or predictor.tasks[0]]
    if not every:
        raise DataError(f"choose with --task: {', '.join(predictor.tasks)}; or pass --all-tasks")
    left = [name for name in predictor.tasks if not _fits(predictor.task(name), given)]
    if len(left) == len(predictor.tasks):
        raise DataError(f"the texts fit none of {', '.join(left)}; choose one with --task to see why")
    if left:
        _say(f"left out, since the texts do not fit: {', '.join(left)}")
    return [name for name in predictor.tasks if name not in left]


def _fits(task: Task, given: list[str] | TextFile) -> bool:
    if isinstance(given, TextFile):
        return given.columns(task) is not None
    return not task.is_pair or len(given) == 2


def _predicted(predictor: Predictor, name: str, given: list[str] | TextFile) -> list[Values]:
    """Return the rows as they came with their predictions; warn of rows that were cut."""
    if isinstance(given, TextFile):
        rows, came = given.texts(predictor.task(name)), given.rows
    else:
        rows = [tuple(given)] if predictor.task(name).is_pair else [(sentence,) for sentence in given]
        came = [texts.named(row) for row in rows]
    columns = {column: values.tolist() for column, values in predictor.columns(name, rows).items()}
    if cut := [str(number) for number, is_cut in enumerate(columns["cut"], 1) if is_cut]:
        _say(
            f"warning: {name}: {len(cut)} of {len(rows)} rows are longer than {predictor.longest} word pieces and lost "
            f"their end, as in training: row {first_of(cut, SHOWN)}"
        )
    predictions = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return texts.joined(came, name, predictions)


def _in_words(rows: Sequence[Values]) -> Iterator[str]:
    """Yield lines for people: each row's texts, and below them the prediction for each task."""
    by_texts: dict[str, list[str]] = {}
    for row in rows:
        shown = " | ".join(row[column] for column in texts.ANY_TASK if column in row)
        by_texts.setdefault(shown, []).append(f"  {row['task']}: {_verdict(TASKS[row['task']], row)}")
    for shown, lines in by_texts.items():
        yield shown
        yield from lines


def _verdict(task: Task, row: dict[str, Any]) -> str:
    """Return `2.303 on a scale of 0 to 5`, or each class with its probability, the predicted one first."""
    if task.kind == "score":
        return f"{row['prediction']:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    probabilities = {name: row[f"probability_{number}"] for number, name in enumerate(class_names(task))}
    order = sorted(probabilities, key=lambda name: (name != row["class"], -probabilities[name]))
    return ", ".join(f"{name} {probabilities[name]:.3f}" for name in order)
