"""The columns of the tables of results, their types, and which of them hold scores and counts."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from mtbert.scores.metrics import OVERALLS, beside_names, means
from mtbert.tasks import SPLITS, Tasks, number_of_folds

TABLES = ("runs", "predictions", "history", "points")
KEY = ["variant", "seed"]  # of a run
UNIQUE = {  # which no two rows of a table share
    "runs": KEY,
    "predictions": [*KEY, "task", "split", "row"],
    "history": [*KEY, "phase", "step", "name"],
    "points": [*KEY, "task", "row"],
}
WEIGHTS = ("encoder", "added", "trained", "stored")
COSTS = ("milliseconds", "batch_milliseconds", "megabytes")  # of running a model
PLACES = ("x", "y", "x2", "y2")  # in a picture, of the first sentence of a row, and of the second
MOVES = "moves"  # of several labels a row, by how much the row moves the mean average precision
FOLD = "fold"  # of tasks with folds, that of a row of dev; -1 of all other rows
CONFIDENCE = "confidence"  # the probability of the predicted class, which evidence does without
UNCALIBRATED = "confidence_uncalibrated"  # the same before a temperature, where training fitted one
OLD_NAMES = {"sure": CONFIDENCE, "sure_uncalibrated": UNCALIBRATED}  # of columns of older tables

Frame = Any  # a pandas.DataFrame: the types of its selections name four kinds at once, which no checker tells apart
Predictions = dict[str, dict[str, Frame]]  # by split, then by task
REPEATED_WORD = pa.dictionary(pa.int32(), pa.string())


def metric_names(tasks: Tasks) -> tuple[str, ...]:
    """Return all that runs are scored by: the tasks, and the mean over them on both scales."""
    return (*scored_tasks(tasks), *OVERALLS)


def scored_tasks(tasks: Tasks) -> list[str]:
    """Return the tasks that are scored, not those that only serve others."""
    return [name for name, task in tasks.items() if not task.serves]


def shown_metrics(tasks: Tasks) -> tuple[str, ...]:
    """Return the metrics that reports show."""
    shown = {*tasks, *means(tasks)}
    return tuple(metric for metric in metric_names(tasks) if metric in shown)


def score_columns(tasks: Tasks) -> tuple[str, ...]:
    """Return the columns of `runs` that hold scores, such as `dev_sst`."""
    return tuple(f"{split}_{metric}" for split in SPLITS for metric in metric_names(tasks))


def beside_columns(tasks: Tasks) -> tuple[str, ...]:
    """Return the columns of `runs` with what else several labels a row are scored by, such as `dev_moods/macro_f1`."""
    return tuple(f"dev_{task}/{name}" for task in scored_tasks(tasks) for name in beside_names(tasks[task]))


def example_columns(tasks: Tasks) -> tuple[str, ...]:
    """Return the columns of `runs` that count training examples, such as `examples_sst`."""
    return tuple(f"examples_{name}" for name in scored_tasks(tasks))


def schema(table: str, tasks: Tasks) -> pa.Schema:
    """Return the columns of a table; those of `runs` depend on the tasks; so do MOVES and FOLD of `predictions`."""
    if table == "runs":
        return _runs_schema(tasks)
    columns = SCHEMAS[table]
    if table == "predictions" and any(task.several for task in tasks.values()):
        columns = columns.append(pa.field(MOVES, pa.float64()))
    if table == "predictions" and number_of_folds(tasks):
        columns = columns.append(pa.field(FOLD, pa.int32()))
    return columns


def _columns(names: Iterable[str], kind: pa.DataType, optional: bool = False) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=optional) for name in names]


def _runs_schema(tasks: Tasks) -> pa.Schema:
    return pa.schema(
        _columns(("kind", "variant"), pa.string())
        + _columns(("seed",), pa.int64())
        + _columns(("steps", "epoch", "threads", *WEIGHTS, *example_columns(tasks)), pa.int64(), optional=True)
        + _columns(("epochs", "device", "precision", "machine", "code"), pa.string(), optional=True)
        + _columns(("overrides",), pa.string(), optional=True)
        + _columns(("seconds", *COSTS), pa.float64(), optional=True)
        + _columns(("settings", "data", "start"), pa.string())
        + _columns(score_columns(tasks), pa.float64(), optional=True)
        + _columns(beside_columns(tasks), pa.float64(), optional=True)
    )


SCHEMAS = {
    "predictions": pa.schema(
        _columns(("task", "split"), REPEATED_WORD)
        + _columns(("row",), pa.int32())
        + _columns(("variant",), REPEATED_WORD)
        + _columns(("seed",), pa.int64())
        + _columns(("id",), REPEATED_WORD)
        + _columns(("label", "prediction"), pa.float64(), optional=True)
        + _columns(("scored",), pa.bool_())
        + _columns(("cluster",), pa.int32())
        + _columns(("shared_cluster",), pa.int32(), optional=True)
        + _columns(("in_train", "shares"), pa.bool_())
        + _columns((CONFIDENCE, UNCALIBRATED), pa.float32(), optional=True)
    ),
    "points": pa.schema(
        _columns(("task",), REPEATED_WORD)
        + _columns(("row",), pa.int32())
        + _columns(("variant",), REPEATED_WORD)
        + _columns(("seed",), pa.int64())
        + _columns(PLACES, pa.float32(), optional=True)
    ),
    "history": pa.schema(
        _columns(("variant",), REPEATED_WORD)
        + _columns(("seed",), pa.int64())
        + _columns(("phase", "step"), pa.int32())
        + _columns(("name",), REPEATED_WORD)
        + _columns(("value",), pa.float64())
    ),
}
