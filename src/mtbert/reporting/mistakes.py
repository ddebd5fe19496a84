"""What models get wrong: confusions, how far off, and the worst misses, from the prediction files of dev."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mtbert import predictions
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.tasks import TASKS, Task

WORST = 10  # misses shown of each task and variant


@dataclass(frozen=True)
class Answers:
    """What one variant's seeds say of a task's dev rows that count.

    Attributes:
        labels: by row id.
        values: by row id, mean over seeds: the probability of each class, in thousandths before, or the one score.
        confusion: number of rows [label, prediction], summed over seeds; empty for scores.
        seeds: how many.
    """

    labels: pd.Series
    values: pd.DataFrame
    confusion: np.ndarray
    seeds: int


@dataclass(frozen=True)
class Miss:
    """A row, its label, what was predicted, and how bad that is.

    Attributes:
        size: of classes, the probability given to the wrong one; of scores, the distance from the label.
    """

    id: str
    label: float
    prediction: float
    size: float


def answers(build: Path, completed: Completed) -> dict[str, dict[str, Answers]]:
    """By task and variant or ensemble, what is there."""
    by_task: dict[str, dict[str, Answers]] = {}
    for entry in completed.ran:
        for task in entry.tasks:
            if (read := _read(build, entry, TASKS[task])) is not None:
                by_task.setdefault(task, {})[entry.name] = read
    return {task: by_task[task] for task in TASKS if task in by_task}


def _read(build: Path, entry: CompletedEntry, task: Task) -> Answers | None:
    paths = [entry.predictions(build, seed, task.name, "dev") for seed in entry.seeds]
    tables = [predictions.read(file) for file in paths if file is not None]
    tables = [table.loc[table["scored"] & table["label"].notna()].set_index("id") for table in tables]
    if not tables or tables[0].empty:
        return None
    counts = sum(confusion(table["label"], table["prediction"], task) for table in tables)
    tables = [table.loc[~table.index.duplicated()] for table in tables]  # an id of a file of one's own may come twice
    values = _means([_values(table, task) for table in tables])
    return Answers(tables[0]["label"].reindex(values.index), values, np.asarray(counts), len(tables))


def _values(table: pd.DataFrame, task: Task) -> pd.DataFrame:
    """The probability of each class, in thousandths, or the score."""
    if task.kind == "score":
        return pd.DataFrame({"prediction": table["prediction"]})
    return pd.DataFrame(of_thousandths(thousandths(table, task)), table.index)


def thousandths(table: pd.DataFrame, task: Task) -> np.ndarray:
    """Probabilities of all classes but the last in thousandths, uint16 [rows, classes - 1].

    The report reads them so, and its evidence keeps no more: scores and verdicts come of the predictions.
    """
    probabilities = table[predictions.probability_columns(task)[:-1]].to_numpy(dtype=float)
    return np.round(1000 * probabilities).astype(np.uint16)


def of_thousandths(counts: np.ndarray) -> np.ndarray:
    """Probabilities of every class [rows, classes], the last's being what the others leave."""
    counts = counts.astype(int)
    rest = np.maximum(0, 1000 - counts.sum(axis=1, keepdims=True))
    return np.hstack([counts, rest]) / 1000


def confusion(labels: pd.Series, predicted: pd.Series, task: Task) -> np.ndarray:
    """Number of rows [label, prediction], [classes, classes]; [0, 0] for a task of scores."""
    if task.kind == "score":
        return np.zeros((0, 0), dtype=int)
    at = labels.to_numpy(dtype=int) * task.classes + predicted.to_numpy(dtype=int)
    return np.bincount(at, minlength=task.classes**2).reshape(task.classes, task.classes)


def distances(counts: np.ndarray) -> np.ndarray:
    """Share of rows whose predicted class is 0, 1, ... steps from the label, [classes]; of a confusion."""
    apart = np.abs(np.subtract.outer(np.arange(len(counts)), np.arange(len(counts))))
    return np.bincount(apart.ravel(), weights=counts.ravel(), minlength=len(counts)) / counts.sum()


def together(several: Sequence[Answers]) -> Answers:
    """All variants as one: means over them, of the rows that all have; confusions summed."""
    values = _means([one.values for one in several])
    confusions = np.sum([one.confusion for one in several], axis=0)
    labels = several[0].labels.reindex(values.index)
    return Answers(labels, values, confusions, sum(one.seeds for one in several))


def _means(several: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Of tables with the same columns, over the rows that all have."""
    shared = several[0].index
    for one in several[1:]:
        shared = shared.intersection(one.index, sort=False)
    return pd.DataFrame(np.mean([one.loc[shared].to_numpy() for one in several], axis=0), shared)


def worst(said: Answers, task: Task, count: int = WORST) -> list[Miss]:
    """The worst misses first: the surest wrong classes, or the scores farthest from their labels."""
    values, labels = said.values.to_numpy(), said.labels.to_numpy()
    if task.kind == "score":
        predicted = values[:, 0]
        size = np.abs(predicted - labels)
    else:
        predicted = values.argmax(axis=1).astype(float)
        size = np.where(predicted == labels, 0.0, values.max(axis=1))
    order = np.argsort(-size, kind="stable")[:count]
    misses = zip(said.labels.index[order], labels[order], predicted[order], size[order], strict=True)
    return [Miss(str(row), float(label), float(guess), float(off)) for row, label, guess, off in misses if off > 0]
