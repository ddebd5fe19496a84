"""`mtbert compare`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mtbert.errors import MtbertError, UnknownNameError
from mtbert.tasks import TASKS

if TYPE_CHECKING:
    from mtbert.comparing.rows import Rows

MATTERS = 0.01  # without a task


def main(
    ours: Annotated[str, typer.Argument(help="CSV, TSV, JSON lines or parquet; {seed} in a path stands for a number.")],
    theirs: Annotated[str, typer.Argument(help="The same, or a run id of MLflow; several, one a seed, with commas.")],
    task: Annotated[str | None, typer.Option(help=f"Sets metric and what matters: {', '.join(TASKS)}.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="accuracy, f1, pearson, spearman, or one of a log of lm-evaluation-harness.")
    ] = None,
    matters: Annotated[
        float | None, typer.Option(min=0, help=f"The smallest difference that matters; {MATTERS} without a task.")
    ] = None,
    columns: Annotated[str, typer.Option(help="Your column names: label=gold,prediction=guess; ignores others.")] = "",
    filter_: Annotated[str | None, typer.Option("--filter", help="Filter of such a log, if it has several.")] = None,
    build: Annotated[Path, typer.Option(help="The build directory of MLflow's runs.")] = Path("build"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Test whether one model predicts better than another, from files of predictions on the same rows.

    A file has the columns id, label and prediction; with seed, trainings are compared, and with cluster (or texts:
    sentence1, sentence2) rows that share a sentence are resampled together. More: docs/comparing.md.
    """
    metric = _metric(task, metric)
    from mtbert.comparing import formatting, judging

    file_names = _file_names(columns)
    sides = [_read(side, file_names, metric, filter_, task, build) for side in (ours, theirs)]
    outcome = judging.compare(sides[0], sides[1], metric, _matters(task) if matters is None else matters)
    print(json.dumps(formatting.as_values(outcome), indent=2) if as_json else formatting.as_text(outcome))


def _read(
    source: str, file_names: dict[str, str], metric: str, filtered: str | None, task: str | None, build: Path
) -> "Rows":
    from mtbert.comparing import sources

    if not sources.is_run(source):
        return sources.read(source, file_names, metric, filtered)
    from mtbert.comparing import tracked

    return tracked.read(source, file_names, metric, filtered, task, build)


def _metric(task: str | None, metric: str | None) -> str:
    if task is not None and task not in TASKS:
        raise MtbertError(str(UnknownNameError("task", task, TASKS)))
    if metric is None and task is None:
        raise MtbertError(
            f"needs --task, one of {', '.join(TASKS)}, or --metric, one of accuracy, f1, pearson, spearman"
        )
    return metric or TASKS[str(task)].metric


def _matters(task: str | None) -> float:
    if task is None:
        return MATTERS
    from mtbert.reporting import claims

    return claims.load().matters.get(task, MATTERS)


def _file_names(columns: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in columns.split(",") if pair]
    if faulty := [name for name, sign, _ in pairs if not sign]:
        raise MtbertError(f"--columns {columns}: {', '.join(faulty)} has no =; allowed: label=gold,prediction=guess")
    from mtbert.comparing import sources

    file_names = {name.strip(): in_file.strip() for name, _, in_file in pairs}
    if unknown := [name for name in file_names if name not in sources.KNOWN]:
        raise MtbertError(f"--columns {columns}: {UnknownNameError('column', unknown[0], sources.KNOWN)}")
    return file_names
