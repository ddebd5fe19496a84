"""Rows of a split; where a task has no dev file, a fifth of its train is drawn, the same in every run.

Rows that share a sentence, directly or through others, stay together: a model would know part of dev. They are drawn by
a digest of their sentences, not by where they stand, so that a sorted file, or one that grows, does no harm.
"""

import hashlib
import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtbert.data import checks, held_out, readers
from mtbert.data.readers import Example, Refusal
from mtbert.errors import DataError
from mtbert.tasks import Split, Task

SHARE = 5  # one of so many rows of train


def source(task: Task, split: Split) -> Split:
    """Return the split whose file the rows of a split come from."""
    return "train" if split == "dev" and draws(task) else split


def draws(task: Task) -> bool:
    """Return whether a task's dev is drawn from its train."""
    return "dev" not in task.files and not task.serves


class RowsOfSplit(NamedTuple):
    """The rows of a split: those that are kept, the others, and how many its file has, of which another has some."""

    examples: list[Example]
    refusals: list[Refusal]
    in_file: int


def read(data_dir: Path, task: Task, split: Split) -> RowsOfSplit:
    """Read the rows of a split, as `readers.read` does; faulty ones of a file that two splits come from are train's."""
    examples, refusals = readers.read(data_dir, task, source(task, split))
    in_file = len(examples) + len(refusals)
    if split == "test" or not draws(task):
        return RowsOfSplit(examples, refusals, in_file)
    in_dev = draw_dev(examples)
    if not in_dev.any():
        raise DataError(
            f"{data_dir / task.files['train']}: no dev can be drawn from its {len(examples)} rows, which share "
            f"sentences or are too few; name a file `dev` of {task.name} in tasks.yaml"
        )
    if split == "dev":
        return RowsOfSplit([*itertools.compress(examples, in_dev)], [], in_file)
    return RowsOfSplit([*itertools.compress(examples, ~in_dev)], refusals, in_file)


def draw_dev(rows: list[Example]) -> np.ndarray:
    """Return the mask [rows] of a fifth of the rows, in whole clusters, those with the smallest digests."""
    cluster = checks.clusters(checks.digests(rows))
    smallest = np.full(cluster.max() + 1, np.iinfo(np.uint64).max, np.uint64)  # digest of each cluster
    np.minimum.at(smallest, cluster, np.array([_digest(row) for row in rows], np.uint64))
    return held_out.choose(cluster, len(rows) // SHARE, np.argsort(smallest, kind="stable"))


def _digest(row: Example) -> int:
    """Return a number of eight bytes that the row's sentences give, in either order; case and spacing are folded."""
    texts = [checks.folded(text) for text in (row.sentence1, row.sentence2) if text]
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return min(int.from_bytes(digest[:8]) for digest in digests)
