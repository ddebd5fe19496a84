"""`mtbert compare`."""

import json
from pathlib import Path
from typing import Annotated

import typer


def main(
    ours: Annotated[str, typer.Argument(help="CSV, TSV, JSON lines or parquet; {seed} in a path stands for a number.")],
    theirs: Annotated[str, typer.Argument(help="The same, or a run id of MLflow; several, one a seed, with commas.")],
    task: Annotated[str | None, typer.Option(help="Sets metric and margin, such as sst.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="accuracy, f1, pearson, spearman, or one of a log of lm-evaluation-harness.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="The smallest difference that matters; 0.01 without a task.")
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
    from mtbert import compare

    outcome = compare.compare_files(ours, theirs, task, metric, margin, columns, filter_, build)
    print(json.dumps(compare.as_values(outcome), indent=2) if as_json else compare.as_text(outcome))
