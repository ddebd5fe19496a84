"""`mtbert predict`."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mtbert import files, starting
from mtbert.errors import DataError

if TYPE_CHECKING:  # torch and pandas are imported once the command line has been parsed
    import pandas as pd

    from mtbert.tasks import Task
    from mtbert.using.predicting import Trained
    from mtbert.using.tables import TextFile

SHOWN = 10  # most cut rows in a message

Model = Annotated[
    str,
    typer.Argument(
        help="A variant or an ensemble, such as pals; a run's folder; or MLflow's models:/mtbert-sample-pals@best."
    ),
]
Sentences = Annotated[list[str] | None, typer.Argument(help="Sentences, or the two of a pair; or use --file.")]
TaskName = Annotated[str | None, typer.Option(help="The task to predict, such as sst; not needed for a model of one.")]
AllTasks = Annotated[bool, typer.Option("--all-tasks", help="Predict every task that the sentences fit.")]
File = Annotated[
    Path | None, typer.Option("--file", "-f", help="Read .csv, .tsv, .jsonl or .txt; - for standard input.")
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file; else to standard output.")]
Format = Annotated[Literal["csv", "tsv", "jsonl", "txt"] | None, typer.Option(help="For files with another ending.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the run; else the lowest.")]
Build = Annotated[Path, typer.Option(help="The build directory in which names are looked up.")]
Device = Annotated[Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="The device to compute on.")]
Predicted = tuple["Task", "pd.DataFrame", "pd.DataFrame"]  # the rows as they came, and their predictions


def main(
    model: Model,
    sentences: Sentences = None,
    task: TaskName = None,
    all_tasks: AllTasks = False,
    file: File = None,
    out: Out = None,
    format: Format = None,
    seed: Seed = None,
    build: Build = Path("build"),
    device: Device = "auto",
) -> None:
    """Predict with a trained model.

    A file needs a column `text`, and `text_pair` for a task of pairs (or the columns of the task's own corpus, such
    as sentence1 and sentence2); all its columns are kept. A plain line is a sentence, or two with a tab between. The
    output has the kind of the input.

    \b
    mtbert predict pals --task sst "What a film!" "What a bore."
    mtbert predict pals --task sts "A man plays." "Someone plays a guitar."
    mtbert predict pals --task sts --file pairs.csv --out scored.csv
    """
    if bool(sentences) == (file is not None):
        raise typer.BadParameter("pass either sentences or --file")
    if task and all_tasks:
        raise typer.BadParameter("pass either --task or --all-tasks")
    with starting.imports():
        from mtbert.using import loading, tables
    warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
    text_file = None if file is None else tables.read(file, format)
    trained = loading.load(model, seed, build, device)
    _say(f"{trained.name}, seed {trained.seed}")
    tasks = _tasks(trained, sentences or [], text_file, task, all_tasks)
    predicted = [_predicted(trained, name, sentences or [], text_file) for name in tasks]
    if text_file is None and out is None and format is None:
        print("\n".join(_in_words(predicted)))
        return
    kind = (out and tables.ENDINGS.get(out.suffix.lower())) or format or (text_file.kind if text_file else "tsv")
    text = tables.text([tables.joined(before, task.name, table) for task, before, table in predicted], kind)
    if out is None:
        sys.stdout.write(text)
    else:
        files.write_text(out, text)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _tasks(
    trained: "Trained", sentences: Sequence[str], text_file: "TextFile | None", task: str | None, every: bool
) -> list[str]:
    """Return the tasks to predict: the one that was named, or all that fit the examples."""
    if task is not None:
        return [trained.task(task).name]
    if len(trained.tasks) == 1:
        return [*trained.tasks]
    if not every:
        raise typer.BadParameter(f"choose with --task: {', '.join(trained.tasks)}; or pass --all-tasks")
    abouts = [trained.task(name) for name in trained.tasks]
    fitting = [about.name for about in abouts if (text_file.fits(about) if text_file else _fits(about, sentences))]
    if not fitting:
        raise DataError(f"the examples fit none of {', '.join(trained.tasks)}; choose one with --task to see why")
    if left := [name for name in trained.tasks if name not in fitting]:
        _say(f"left out, since the examples do not fit: {', '.join(left)}")
    return fitting


def _fits(task: "Task", sentences: Sequence[str]) -> bool:
    return not task.is_pair or len(sentences) == 2


def _predicted(trained: "Trained", name: str, sentences: Sequence[str], text_file: "TextFile | None") -> Predicted:
    """Return the task, the rows as they came, and their predictions; warn of rows that were cut."""
    import pandas as pd

    from mtbert.using.tables import ANY_TASK

    task = trained.task(name)
    if text_file is None:
        rows = [tuple(sentences)] if task.is_pair else [(sentence,) for sentence in sentences]
        before = pd.DataFrame(rows, columns=pd.Index(ANY_TASK[: max(map(len, rows))]))
    else:
        rows, before = text_file.texts(task), text_file.table()
    table = trained.predict(name, rows, watch=True)
    if cut := (table["cut"].to_numpy().nonzero()[0] + 1).tolist():
        rows_cut = ", ".join(map(str, cut[:SHOWN])) + (", ..." if len(cut) > SHOWN else "")
        _say(
            f"warning: {name}: {len(cut)} of {len(rows)} rows are longer than {trained.longest} word pieces and lost "
            f"their end, as in training: row {rows_cut}"
        )
    return task, before, table


def _in_words(predicted: Sequence[Predicted]) -> Iterator[str]:
    """Yield lines for people: each row's texts, and below them the prediction for each task."""
    by_texts: dict[tuple[str, ...], list[str]] = {}
    for task, before, table in predicted:
        for texts, record in zip(before.itertuples(index=False, name=None), table.to_dict("records"), strict=True):
            by_texts.setdefault(texts, []).append(f"  {task.name}: {_verdict(task, record)}")
    for texts, lines in by_texts.items():
        yield " | ".join(texts)
        yield from lines


def _verdict(task: "Task", record: dict) -> str:
    """Return `2.303 on a scale of 0 to 5`, or each class with its probability, the predicted one first."""
    from mtbert.using import names

    if task.kind == "score":
        return f"{record['prediction']:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    probabilities = {name: record[f"probability_{number}"] for number, name in enumerate(names.classes(task))}
    order = sorted(probabilities, key=lambda name: (name != record["class"], -probabilities[name]))
    return ", ".join(f"{name} {probabilities[name]:.3f}" for name in order)
