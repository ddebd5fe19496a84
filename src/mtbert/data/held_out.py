"""Training rows in the place of dev, for choices that must not look at dev: `held_out` in params.yaml."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from mtbert.data import checks
from mtbert.errors import DataError


def hold_out(directory: Path, train: pd.DataFrame, rows: int) -> np.ndarray:
    """Move rows of train.parquet to a new dev.parquet, and remove test.parquet.

    Args:
        directory: a task's folder, as `preprocess` writes it.
        train: `checks.digests` of its training rows.
        rows: number of rows to hold out; fewer where no further whole cluster fits.

    Returns:
        A mask [rows] of the training rows that are held out.

    Raises:
        DataError: less than half of the rows would stay.
    """
    if 2 * rows > len(train):
        raise DataError(f"held_out is {rows:,}; allowed: at most half of the {len(train):,} rows of {directory.name}")
    held, table = chosen(checks.clusters(train), rows), pq.read_table(directory / "train.parquet")
    pq.write_table(table.filter(held), directory / "dev.parquet")
    pq.write_table(table.filter(~held), directory / "train.parquet")
    (directory / "test.parquet").unlink(missing_ok=True)
    return held


def chosen(cluster: np.ndarray, rows: int, order: np.ndarray | None = None) -> np.ndarray:
    """Choose as many whole clusters [rows] as fit into `rows` rows, by an order, or a random one: a mask [rows]."""
    sizes = np.bincount(cluster)
    held, left = np.zeros(len(sizes), dtype=bool), rows
    for number in np.random.default_rng(1).permutation(len(sizes)) if order is None else order:
        if sizes[number] <= left:
            held[number] = True
            left -= int(sizes[number])
    return held[cluster]
