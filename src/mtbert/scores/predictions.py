"""Prediction files: what a model predicted for every row, from which every score in a table is computed.

Columns: id (string), label (float, null if withheld), prediction (float: the class, or the score), for class tasks
probability_0, probability_1, ... with the probability of each class, scored (bool): whether the row counts. Rows on
which the epoch was chosen do not.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mtbert import files
from mtbert.errors import DataError
from mtbert.scores import metrics
from mtbert.tasks import Task, Tasks

if TYPE_CHECKING:
    import pandas as pd


def probability_columns(task: Task) -> list[str]:
    """Return the names of the probability columns; none for a score."""
    return [] if task.kind == "score" else [f"probability_{label}" for label in range(task.classes)]


def write(file: Path, table: "pd.DataFrame") -> None:
    """Write a prediction file; `mtbert.files.read_parquet` reads it."""
    with files.new_file(file) as partial:
        table.to_parquet(partial, index=False)


def scores(tables: Mapping[str, "pd.DataFrame"], tasks: Tasks) -> dict[str, float]:
    """Return each task's metric where labels are known, and the means over tasks of `metrics.overall`."""
    scores: dict[str, float] = {}
    for task, table in tables.items():
        task_score = score(table, tasks[task])
        if task_score is not None:
            scores[task] = task_score
    return scores | metrics.overall(scores, tasks)


def score(table: "pd.DataFrame", task: Task) -> float | None:
    """Return the task's metric over all scored rows; None where labels are withheld, DataError where only some are."""
    table = table.loc[table["scored"]]
    missing = int(table["label"].isna().to_numpy().sum())
    if missing == len(table):
        return None
    if missing:
        raise DataError(f"{missing} of {len(table)} predictions of {task.name} have no label: all need one, or none")
    return metrics.of_task(task, np.asarray(table["label"]), np.asarray(table["prediction"]))
