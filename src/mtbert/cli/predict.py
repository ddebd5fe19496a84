"""`mtbert predict`."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mtbert import files, starting
from mtbert.errors import DataError

if TYPE_CHECKING:  # torch and pandas come in once the command line is understood
    import pandas as pd

    from mtbert.tasks import Task
    from mtbert.using.predicting import Trained
    from mtbert.using.tables import Given

SHOWN = 10  # rows that were cut, in a message

Model = Annotated[
    str,
    typer.Argument(
        help="A variant or an ensemble, such as pals; a run's folder; or MLflow's models:/mtbert-sample-pals@best."
    ),
]
Sentences = Annotated[list[str] | None, typer.Argument(help="A sentence each, or the two of a pair; or see --file.")]
TaskName = Annotated[str | None, typer.Option(help="What to predict, such as sst; a model of one task needs none.")]
AllTasks = Annotated[bool, typer.Option("--all-tasks", help="Predict every task that the sentences fit.")]
File = Annotated[
    Path | None, typer.Option("--file", "-f", help="Read .csv, .tsv, .jsonl or .txt; - for standard input.")
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file; else to standard output.")]
Format = Annotated[
    Literal["csv", "tsv", "jsonl", "txt"] | None, typer.Option(help="Where a file's ending does not say it.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Which run of a name; else the lowest seed that is there.")]
Build = Annotated[Path, typer.Option(help="Where names are looked up.")]
Device = Annotated[Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Where to compute.")]
Predicted = tuple["Task", "pd.DataFrame", "pd.DataFrame"]  # the rows as they came, and what was said of them


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

    A file needs a column `text`, and `text_pair` where the task is one of pairs (or the columns of the task's own
    corpus, such as sentence1 and sentence2); all its columns are kept. A plain line is a sentence, or two with a tab
    between. What comes out is of the kind that went in.

    \b
    mtbert predict pals --task sst "What a film!" "What a bore."
    mtbert predict pals --task sts "A man plays." "Someone plays a guitar."
    mtbert predict pals --task sts --file pairs.csv --out scored.csv
    """
    if bool(sentences) == (file is not None):
        raise typer.BadParameter("give sentences or --file, one of the two")
    if task and all_tasks:
        raise typer.BadParameter("give --task or --all-tasks, one of the two")
    with starting.imports():
        from mtbert.using import loading, tables
    warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
    given = None if file is None else tables.read(file, format)
    trained = loading.load(model, seed, build, device)
    _say(f"{trained.name}, seed {trained.seed}")
    tasks = _tasks(trained, sentences or [], given, task, all_tasks)
    found = [_predicted(trained, name, sentences or [], given) for name in tasks]
    if given is None and out is None and format is None:
        print("\n".join(_in_words(found)))
        return
    kind = (out and tables.ENDINGS.get(out.suffix.lower())) or format or (given.kind if given else "tsv")
    text = tables.text([tables.joined(before, task.name, table) for task, before, table in found], kind)
    if out is None:
        sys.stdout.write(text)
    else:
        files.write_text(out, text)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _tasks(
    trained: "Trained", sentences: Sequence[str], given: "Given | None", task: str | None, every: bool
) -> list[str]:
    """What to predict: what was named, or all that fits what was given."""
    if task is not None:
        return [trained.task(task).name]
    if len(trained.tasks) == 1:
        return [*trained.tasks]
    if not every:
        raise typer.BadParameter(f"say which with --task: {', '.join(trained.tasks)}; or --all-tasks")
    abouts = [trained.task(name) for name in trained.tasks]
    fitting = [about.name for about in abouts if (given.fits(about) if given else _fits(about, sentences))]
    if not fitting:
        raise DataError(f"what was given fits none of {', '.join(trained.tasks)}; say which with --task, to see why")
    if left := [name for name in trained.tasks if name not in fitting]:
        _say(f"left out, as the examples are of another form: {', '.join(left)}")
    return fitting


def _fits(task: "Task", sentences: Sequence[str]) -> bool:
    return not task.is_pair or len(sentences) == 2


def _predicted(trained: "Trained", name: str, sentences: Sequence[str], given: "Given | None") -> Predicted:
    """The task, the rows as they came, and what the model says of them; tells which were cut."""
    import pandas as pd

    from mtbert.using.tables import ANY_TASK

    task = trained.task(name)
    if given is None:
        rows = [tuple(sentences)] if task.is_pair else [(sentence,) for sentence in sentences]
        before = pd.DataFrame(rows, columns=pd.Index(ANY_TASK[: max(map(len, rows))]))
    else:
        rows, before = given.texts(task), given.table()
    table = trained.predict(name, rows, watch=True)
    if cut := (table["cut"].to_numpy().nonzero()[0] + 1).tolist():
        rows_cut = ", ".join(map(str, cut[:SHOWN])) + (", ..." if len(cut) > SHOWN else "")
        _say(
            f"warning: {name}: {len(cut)} of {len(rows)} rows are longer than {trained.longest} word pieces and lost "
            f"their end, as in training: row {rows_cut}"
        )
    return task, before, table


def _in_words(found: Sequence[Predicted]) -> Iterator[str]:
    """Lines for a person: each row's texts, and below them what each task says."""
    said: dict[tuple[str, ...], list[str]] = {}
    for task, before, table in found:
        for texts, record in zip(before.itertuples(index=False, name=None), table.to_dict("records"), strict=True):
            said.setdefault(texts, []).append(f"  {task.name}: {_verdict(task, record)}")
    for texts, lines in said.items():
        yield " | ".join(texts)
        yield from lines


def _verdict(task: "Task", record: dict) -> str:
    """`2.303 on a scale of 0 to 5`, or each class with its probability, the predicted one first."""
    from mtbert.using import names

    if task.kind == "score":
        return f"{record['prediction']:.3f} on a scale of {task.lowest:g} to {task.highest:g}"
    probabilities = {name: record[f"probability_{number}"] for number, name in enumerate(names.classes(task))}
    order = sorted(probabilities, key=lambda name: (name != record["class"], -probabilities[name]))
    return ", ".join(f"{name} {probabilities[name]:.3f}" for name in order)
