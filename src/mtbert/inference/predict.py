"""What `mtbert predict` does: sentences or a file in, lines for people or a file out."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert import command, files
from mtbert.errors import DataError, first_of
from mtbert.inference import loading, texts
from mtbert.inference.predicting import Predictor, class_names
from mtbert.inference.texts import Kind, TextFile
from mtbert.tasks import Task

SHOWN = 10  # most cut rows in a message
Predicted = tuple[Task, pd.DataFrame, pd.DataFrame]  # the rows as they came, and their predictions


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
    predicted = [_predicted(predictor, name, given) for name in _tasks(predictor, given, task, every)]
    if not isinstance(given, TextFile) and out is None and kind is None:
        print("\n".join(_in_words(predicted)))
        return
    kind = (
        (out and texts.ENDINGS.get(out.suffix.lower()))
        or kind
        or (given.kind if isinstance(given, TextFile) else "tsv")
    )
    text = texts.written([texts.joined(before, about.name, table) for about, before, table in predicted], kind)
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
    fitting = [name for name in predictor.tasks if _fits(predictor.task(name), given)]
    if not fitting:
        raise DataError(f"the texts fit none of {', '.join(predictor.tasks)}; choose one with --task to see why")
    if left := [name for name in predictor.tasks if name not in fitting]:
        _say(f"left out, since the texts do not fit: {', '.join(left)}")
    return fitting


def _fits(task: Task, given: list[str] | TextFile) -> bool:
    return given.fits(task) if isinstance(given, TextFile) else not task.is_pair or len(given) == 2


def _predicted(predictor: Predictor, name: str, given: list[str] | TextFile) -> Predicted:
    """Return the task, the rows as they came, and their predictions; warn of rows that were cut."""
    task = predictor.task(name)
    if isinstance(given, TextFile):
        rows = given.texts(task)
    else:
        rows = [tuple(given)] if task.is_pair else [(sentence,) for sentence in given]
    table = predictor.predict(name, rows)
    before = given.table() if isinstance(given, TextFile) else texts.plain(rows)
    if cut := (table["cut"].to_numpy().nonzero()[0] + 1).tolist():
        _say(
            f"warning: {name}: {len(cut)} of {len(rows)} rows are longer than {predictor.longest} word pieces and lost "
            f"their end, as in training: row {first_of([*map(str, cut)], SHOWN)}"
        )
    return task, before, table


def _in_words(predicted: Sequence[Predicted]) -> Iterator[str]:
    """Yield lines for people: each row's texts, and below them the prediction for each task."""
    by_texts: dict[tuple[str, ...], list[str]] = {}
    for task, before, table in predicted:
        for row, record in zip(before.itertuples(index=False, name=None), table.to_dict("records"), strict=True):
            by_texts.setdefault(row, []).append(f"  {task.name}: {_verdict(task, record)}")
    for row, lines in by_texts.items():
        yield " | ".join(row)
        yield from lines


def _verdict(task: Task, record: dict[Any, Any]) -> str:
    """Return `2.303 on a scale of 0 to 5`, or each class with its probability, the predicted one first."""
    if task.kind == "score":
        return f"{record['prediction']:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    probabilities = {name: record[f"probability_{number}"] for number, name in enumerate(class_names(task))}
    order = sorted(probabilities, key=lambda name: (name != record["class"], -probabilities[name]))
    return ", ".join(f"{name} {probabilities[name]:.3f}" for name in order)
