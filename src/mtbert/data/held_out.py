"""Training rows held out as a dev set of their own, for choices that must not look at dev."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from mtbert.data import checks, preprocess
from mtbert.data.readers import Example
from mtbert.errors import DataError
from mtbert.files import new_directory, read_parquet


def hold_out(data: Path, tasks: Iterable[str], out: Path, rows: int, seed: int) -> dict[str, int]:
    """Write train and dev of each task to the new directory `out`, both from the rows of its train in `data`.

    Args:
        data: the folder that `preprocess` writes.
        out: replaced as a whole; holds train.parquet, dev.parquet and dev-rows.parquet in a folder for each task.
        rows: number of rows to hold out of each task; fewer where no further whole cluster fits.
        seed: draws the rows; the same rows for the same seed.

    Returns:
        The number of rows of each task that are held out.

    Raises:
        DataError: a task's train is missing or damaged, or less than half of it would stay.
    """
    with new_directory(out) as directory:
        return {task: _hold_out(data / task / "train.parquet", task, directory / task, rows, seed) for task in tasks}


def chosen(cluster: np.ndarray, rows: int, seed: int) -> np.ndarray:
    """Choose whole clusters [rows] in random order, as many as fit into `rows` rows: a mask [rows]."""
    sizes = np.bincount(cluster)
    held, left = np.zeros(len(sizes), dtype=bool), rows
    for number in np.random.default_rng(seed).permutation(len(sizes)):
        if sizes[number] <= left:
            held[number] = True
            left -= int(sizes[number])
    return held[cluster]


def _hold_out(file: Path, task: str, directory: Path, rows: int, seed: int) -> int:
    read_parquet(file, list(Example._fields))  # reports a missing or damaged file
    table = pq.read_table(file)
    examples = [Example(**row) for row in table.select(Example._fields).to_pylist()]
    if 2 * rows > len(examples):
        raise DataError(
            f"{rows:,} rows of {task} are to be held out of {len(examples):,} (search.held_out); allowed: at most half"
        )
    compared = checks.digests(examples)
    held = chosen(checks.clusters(compared), rows, seed)
    directory.mkdir()
    for split, mask in (("train", ~held), ("dev", held)):
        pq.write_table(table.filter(mask), directory / f"{split}.parquet")
    dev, train = compared.loc[held].reset_index(drop=True), compared.loc[~held]
    preprocess.write_about(directory, dev, train, pretraining=checks.digests([]))
    return int(held.sum())
