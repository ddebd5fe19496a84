"""Prediction files: what a model predicted for every row, from which every score in a table is computed.

Columns: id (string), label (float, null if withheld), prediction (float: the class, the set of labels as
`mtbert.scores.sets` numbers it, or the score), for class tasks probability_0, probability_1, ... with the probability
of each class, or of each label of a set, scored (bool): whether the row counts. Rows on which the epoch was chosen do
not.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mtbert import files
from mtbert.errors import DataError
from mtbert.scores import metrics, sets
from mtbert.tasks import Task, Tasks

if TYPE_CHECKING:
    import pandas as pd


def probability_columns(task: Task) -> list[str]:
    """Return the names of the probability columns; none for a score."""
    return [] if task.kind == "score" else [f"probability_{label}" for label in range(task.classes)]


def columns(task: Task, probabilities: np.ndarray, thresholds: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return `prediction` and the probability columns: the most probable class, of equal ones the first.

    Args:
        task: one of classes, or of sets of labels.
        probabilities: [rows, classes].
        thresholds: of sets, the least probability at which a row has each label, [classes].
    """
    if thresholds is None:
        predicted = probabilities.argmax(axis=1).astype(float)
    else:
        predicted = sets.numbers_of(probabilities >= thresholds)
    return {"prediction": predicted} | dict(zip(probability_columns(task), probabilities.T, strict=True))


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


def scores_beside(tables: Mapping[str, "pd.DataFrame"], tasks: Tasks) -> dict[str, float]:
    """Return what else sets of labels are scored by, such as `moods/macro_f1`: `metrics.beside` of labelled rows."""
    beside: dict[str, float] = {}
    for name, table in tables.items():
        task, table = tasks[name], table.loc[table["scored"]]
        if not task.several or table["label"].isna().to_numpy().any():
            continue
        names = probability_columns(task)
        probabilities = table[names].to_numpy(float) if {*names} <= {*table} else None
        scores = metrics.beside(task, np.asarray(table["label"]), np.asarray(table["prediction"]), probabilities)
        beside |= {f"{name}/{metric}": score for metric, score in scores.items()}
    return beside


def score(table: "pd.DataFrame", task: Task) -> float | None:
    """Return the task's metric over all scored rows; None where labels are withheld, DataError where only some are."""
    table = table.loc[table["scored"]]
    missing = int(table["label"].isna().to_numpy().sum())
    if missing == len(table):
        return None
    if missing:
        raise DataError(f"{missing} of {len(table)} predictions of {task.name} have no label: all need one, or none")
    return metrics.task_score(task, np.asarray(table["label"]), np.asarray(table["prediction"]))
