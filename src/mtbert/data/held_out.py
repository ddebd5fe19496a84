"""Training rows in the place of dev, for choices that must not look at dev: `held_out` in params.yaml."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from mtbert import layout
from mtbert.data import checks
from mtbert.errors import DataError


def tasks_of(build: Path) -> set[str]:
    """Return the tasks of a build folder whose dev was taken from train, so that its rows lie in the train file."""
    if not layout.plan(build).is_file() or not layout.read_catalog(build).get("held_out"):
        return set()
    return {
        task for task, split in layout.read_plan(layout.plan(build, "preprocess"), "splits")["splits"] if split == "dev"
    }


def draw(train_by_task: Mapping[str, pd.DataFrame], rows: int) -> dict[str, np.ndarray]:
    """Return by task a mask [rows] of the training rows that are held out.

    A cluster that several tasks share is held out of all of them, or of none.

    Args:
        train_by_task: `checks.digests` of the training rows of each task.
        rows: number of rows of each task to hold out. Fewer where no further whole cluster fits; more where the tasks
            before it have decided so for the clusters that they share.

    Raises:
        DataError: less than half of the rows of a task would stay.
    """
    masks: dict[str, np.ndarray] = {}
    decided: dict[int, bool] = {}  # by cluster over all tasks, whether it is held out
    for task, over_tasks in checks.clusters_over_tasks(train_by_task).items():
        if 2 * rows > len(over_tasks):
            raise DataError(f"held_out is {rows:,}; allowed: at most half of the {len(over_tasks):,} rows of {task}")
        cluster, numbers = pd.factorize(over_tasks)
        masks[task] = choose(cluster, rows, decided=[decided.get(number) for number in numbers.tolist()])
        decided |= dict(zip(over_tasks.tolist(), masks[task].tolist(), strict=True))
    return masks


def move(data: Path, task: str, is_held_out: np.ndarray) -> None:
    """Move rows of a task's train to a new dev, and remove test.

    Args:
        data: the folder of all examples, as `preprocess` writes it.
        task: whose rows are moved.
        is_held_out: a mask [rows] of its training rows.
    """
    table = pq.read_table(layout.examples(data, task, "train"))
    pq.write_table(table.filter(is_held_out), layout.examples(data, task, "dev"))
    pq.write_table(table.filter(~is_held_out), layout.examples(data, task, "train"))
    layout.examples(data, task, "test").unlink(missing_ok=True)


def choose(cluster: np.ndarray, rows: int, decided: Sequence[bool | None] = ()) -> np.ndarray:
    """Choose as many whole clusters as fit into `rows` rows, in a random order that is the same in every run.

    Args:
        cluster: the number of each row's, [rows].
        rows: how many to choose.
        decided: of each cluster, whether it is chosen anyway, or never; None for those that are free.

    Returns:
        A mask [rows] of the rows that are chosen.
    """
    sizes = np.bincount(cluster)
    is_chosen = np.array([answer is True for answer in decided] or [False] * len(sizes))
    is_free = np.array([answer is None for answer in decided] or [True] * len(sizes))
    room = rows - int(sizes[is_chosen].sum())
    for number in np.random.default_rng(1).permutation(len(sizes)):
        if is_free[number] and sizes[number] <= room:
            is_chosen[number] = True
            room -= int(sizes[number])
    return is_chosen[cluster]
