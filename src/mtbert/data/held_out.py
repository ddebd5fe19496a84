"""Training rows in the place of dev, for choices that must not look at dev: `held_out` in params.yaml."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from mtbert import layout
from mtbert.data import checks
from mtbert.errors import DataError


def hold_out(data: Path, task: str, train: pd.DataFrame, rows: int) -> np.ndarray:
    """Move rows of a task's train to a new dev, and remove test.

    Args:
        data: the folder of all examples, as `preprocess` writes it.
        task: whose rows are moved.
        train: `checks.digests` of its training rows.
        rows: number of rows to hold out; fewer where no further whole cluster fits.

    Returns:
        A mask [rows] of the training rows that are held out.

    Raises:
        DataError: less than half of the rows would stay.
    """
    if 2 * rows > len(train):
        raise DataError(f"held_out is {rows:,}; allowed: at most half of the {len(train):,} rows of {task}")
    is_held_out = choose(checks.clusters(train), rows)
    table = pq.read_table(layout.examples(data, task, "train"))
    pq.write_table(table.filter(is_held_out), layout.examples(data, task, "dev"))
    pq.write_table(table.filter(~is_held_out), layout.examples(data, task, "train"))
    layout.examples(data, task, "test").unlink(missing_ok=True)
    return is_held_out


def choose(cluster: np.ndarray, rows: int, order: np.ndarray | None = None) -> np.ndarray:
    """Choose as many whole clusters [rows] as fit into `rows` rows, by an order, or a random one: a mask [rows]."""
    sizes = np.bincount(cluster)
    is_chosen = np.zeros(len(sizes), dtype=bool)
    room = rows
    if order is None:
        order = np.random.default_rng(1).permutation(len(sizes))
    for number in order:
        if sizes[number] <= room:
            is_chosen[number] = True
            room -= int(sizes[number])
    return is_chosen[cluster]
