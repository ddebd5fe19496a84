"""Rows of a split; where a task has no dev file, a fifth of its train is drawn, the same in every run.

Rows that share a sentence, directly or through others, stay together: a model would know part of dev. They are drawn by
a digest of their sentences, not by where they stand, so that a sorted file, or one that grows, does no harm. Labels do
not count, and tasks that draw from one file draw the same lines: what is dev of one is train of none.
"""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mtbert.data import checks, held_out, readers, records
from mtbert.data.readers import Example, Refusal
from mtbert.errors import DataError
from mtbert.tasks import Split, Task, Tasks

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


class Splits:
    """The splits of a folder's tasks."""

    def __init__(self, data_dir: Path, tasks: Tasks) -> None:
        self.data_dir = data_dir
        self.tasks = tasks
        self._dev_lines: dict[str, Collection[int]] = {}  # by file

    def read(self, task: Task, split: Split) -> RowsOfSplit:
        """Read the rows of a split, as `readers.read` does; faulty ones of a file of two splits are train's.

        Train has no line that is dev of another task.
        """
        examples, refusals = readers.read(self.data_dir, task, source(task, split))
        in_file = len(examples) + len(refusals)
        if source(task, split) != "train":
            return RowsOfSplit(examples, refusals, in_file)
        dev_lines = self._lines_of_dev(task)
        dev = [row for row in examples if row.line in dev_lines]
        train = [row for row in examples if row.line not in dev_lines]
        if not train or (draws(task) and not dev):
            raise DataError(
                f"{self.data_dir / task.files['train']}: no dev can be drawn from its {len(examples)} rows, which "
                f"share sentences or are too few; name a file `dev` of {task.name} in tasks.yaml"
            )
        return RowsOfSplit(dev, [], in_file) if split == "dev" else RowsOfSplit(train, refusals, in_file)

    def _lines_of_dev(self, task: Task) -> Collection[int]:
        """Return the lines of the file of a task's train that are dev of all tasks that draw from it."""
        file = task.files["train"]
        if file not in self._dev_lines:
            drawing = [other for other in self.tasks.values() if draws(other) and other.files["train"] == file]
            columns = [*dict.fromkeys(other.sentences for other in drawing)]
            self._dev_lines[file] = draw_dev(_texts(self.data_dir / file, task, columns)) if drawing else ()
        return self._dev_lines[file]


def _texts(file: Path, task: Task, columns: Sequence[tuple[str, ...]]) -> list[Example]:
    """Return the sentences of a file's rows, without id and label.

    A row has an entry for each of `columns`, a text or a pair, where all of them hold text.
    """
    texts: list[Example] = []
    for line, values in readers.rows_of(file, task.encoding, task.name):
        if records.repeats_header(values):
            continue
        for names in columns:
            sentences = [values.get(name) for name in names]
            if not any(readers.fault_of_text("", sentence) for sentence in sentences):
                texts.append(Example("", str(sentences[0]), str(sentences[1]) if len(names) > 1 else None, None, line))
    return texts


def draw_dev(texts: Sequence[Example]) -> Collection[int]:
    """Return the lines of a fifth of the rows, in whole clusters, those with the smallest digests.

    A row is all entries of one line.
    """
    digests = checks.digests(texts)
    row_numbers, lines = pd.factorize(digests["line"])
    cluster = checks.connected(row_numbers, digests)
    smallest = np.full(cluster.max(initial=-1) + 1, np.iinfo(np.uint64).max, np.uint64)  # digest of each cluster
    np.minimum.at(smallest, cluster[row_numbers], np.array([_digest(row) for row in texts], np.uint64))
    is_dev = held_out.choose(cluster, len(lines) // SHARE, np.argsort(smallest, kind="stable"))
    return {*lines[is_dev].tolist()}


def _digest(row: Example) -> int:
    """Return a number of eight bytes that the row's sentences give, in either order; case and spacing are folded."""
    texts = [checks.folded(text) for text in (row.sentence1, row.sentence2) if text]
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return min(int.from_bytes(digest[:8]) for digest in digests)
