"""Turn texts into the examples that a model's evaluation takes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from mtbert.data import readers
from mtbert.data.batches import Batch, Examples, Marks
from mtbert.errors import DataError
from mtbert.settings import ModelSettings
from mtbert.tasks import Task

Row = str | Sequence[str]  # a text, or the two texts of a pair
Tokenize = Callable[[list[str]], list[list[int]]]
MOST_FAULTS = 5  # most faults in a message


class Watched(Examples):
    """Examples that show progress on standard error."""

    def in_order(self, size: int, numbers: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, Batch]]:
        """As `Examples.in_order`."""
        with tqdm(total=len(self), unit=" rows", desc=self.task.name) as bar:
            for picks, batch in super().in_order(size, numbers):
                yield picks, batch
                bar.update(len(picks))


def texts(task: Task, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the texts of each row, as many as the task's examples have.

    Raises:
        DataError: no rows, a row with another number of texts, or a text that preprocessing refuses: empty, too long,
            or not text.
    """
    if isinstance(rows, str) or not len(rows):
        raise DataError(f"{task.name} needs a list of rows, each {_form(task)}; came {'a text' if rows else 'no row'}")
    row_texts: list[tuple[Any, ...]] = [tuple(row) if isinstance(row, (list, tuple)) else (row,) for row in rows]
    faults = [f"row {number}: {fault}" for number, row in enumerate(row_texts, 1) if (fault := _fault(task, row))]
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more rows" if len(faults) > MOST_FAULTS else ""
        raise DataError(f"{task.name}: {'; '.join(faults[:MOST_FAULTS])}{more}")
    return row_texts


def _form(task: Task) -> str:
    return "two texts" if task.is_pair else "one text"


def _fault(task: Task, row: tuple[Any, ...]) -> str:
    if len(row) != len(task.sentences):
        return f"needs {_form(task)}, came {len(row)}"
    faults = [readers.fault_of_text(name, text) for name, text in zip(task.sentences, row, strict=True)]
    return ", ".join(fault for fault in faults if fault)


def examples(
    task: Task, rows: Sequence[tuple[str, ...]], tokenize: Tokenize, marks: Marks, settings: ModelSettings, watch: bool
) -> tuple[Examples, np.ndarray]:
    """Make examples without labels, and a mask [rows] of those that are cut to the model's longest sequence."""
    columns = [tokenize(list(texts)) for texts in zip(*rows, strict=True)]
    table = pd.DataFrame({"id": [str(number) for number in range(len(rows))], "label": np.nan})
    for number, tokens in enumerate(columns, 1):
        table[f"tokens{number}"] = tokens
    unlabelled = (Watched if watch else Examples)(table, task, settings.pair_encoding, marks, settings.max_tokens)
    lengths = np.array([[len(tokens) for tokens in texts] for texts in columns])  # [texts, rows]
    crossed = task.is_pair and settings.pair_encoding == "cross"
    marked = lengths.sum(axis=0) + 3 if crossed else lengths.max(axis=0) + 2  # with [CLS] and each [SEP]
    return unlabelled, np.asarray(marked > settings.max_tokens)
