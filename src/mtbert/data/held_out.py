"""Training rows held out as a dev set of their own, for choices that must not look at dev."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from mtbert.data import checks, preprocess
from mtbert.data.readers import Example
from mtbert.errors import DataError
from mtbert.files import new_directory, new_file, read_parquet


def hold_out(data: Path, tasks: Iterable[str], out: Path, rows: int, seed: int) -> dict[str, int]:
    """Write train and dev of each task to the new directory `out`, both from the rows of its train in `data`.

    Args:
        data: as `preprocess` writes it.
        out: replaced as a whole; train.parquet, dev.parquet and dev-rows.parquet below a folder for each task.
        rows: to hold out of each task; fewer where no further rows that share a sentence would fit together.
        seed: of the choice, which is the same for the same rows.

    Returns:
        How many rows of each task are held out.

    Raises:
        DataError: a task's train is missing or damaged, or less than half of it would stay.
    """
    with new_directory(out) as directory:
        return {task: _hold_out(data / task / "train.parquet", task, directory / task, rows, seed) for task in tasks}


def chosen(cluster: np.ndarray, rows: int, seed: int) -> np.ndarray:
    """Whole clusters [rows] in random order, as many as fit into that many rows: bool [rows]."""
    sizes = np.bincount(cluster)
    held, left = np.zeros(len(sizes), dtype=bool), rows
    for number in np.random.default_rng(seed).permutation(len(sizes)):
        if sizes[number] <= left:
            held[number] = True
            left -= int(sizes[number])
    return held[cluster]


def _hold_out(file: Path, task: str, directory: Path, rows: int, seed: int) -> int:
    if not file.is_file():
        raise DataError(f"{file} is missing; `dvc repro preprocess` makes it from data_dir (params.yaml)")
    read_parquet(file, list(Example._fields))  # tells a file that is damaged
    table = pq.read_table(file)
    examples = [Example(**row) for row in table.select(Example._fields).to_pylist()]
    if 2 * rows > len(examples):
        raise DataError(
            f"{rows:,} rows of {task} are to be held out of {len(examples):,} (search.held_out); allowed: at most half"
        )
    held = chosen(checks.clusters(checks.Index(examples)), rows, seed)
    directory.mkdir()
    found = {}
    for split, mask in (("train", ~held), ("dev", held)):
        pq.write_table(table.filter(mask), directory / f"{split}.parquet")
        kept = (example for example, here in zip(examples, mask, strict=True) if here)
        found[task, split] = preprocess.Found(checks.Index(kept))
    ids = read_parquet(directory / "dev.parquet", ["id"])
    with new_file(directory / "dev-rows.parquet") as partial:
        preprocess.about_rows((task, "dev"), found, ids).to_parquet(partial, index=False)
    return int(held.sum())
