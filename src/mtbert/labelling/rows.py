"""All rows of a task that a person can correct, with the place of each in its file."""

from pathlib import Path

import numpy as np
import pandas as pd

from mtbert import files, layout
from mtbert.baselines.rows import Rows, text_columns
from mtbert.data import drawing, readers
from mtbert.errors import DataError
from mtbert.scores import sets
from mtbert.scores.columns import Frame
from mtbert.tasks import SPLITS, Split, Task


def read(data: Path, task: Task, has_held_out: bool = False) -> Frame:
    """Return the rows of all splits, train first: split, file, line, id, label, group, and `text_columns`.

    A missing label is NaN. Rows of a split that belong together have one `group`; those of test have none. Of a task
    with folds, whose train and dev have the same rows, each stands once, as train's. Where dev `has_held_out` rows of
    train, they lie in train's file.
    """
    parts: list[Frame] = []
    for split in SPLITS:
        file = layout.examples(data, task.name, split)
        if file.is_file() and not (task.folds and split == "dev"):
            part: Frame = files.read_parquet(file, ["line", "id", "label", "cluster", *text_columns(task)])
            source = "train" if has_held_out and split == "dev" else drawing.source(task, split)
            parts.append(part.assign(split=split, file=task.files[source], group=_groups(part, split)))
    columns = ["split", "file", "line", "id", "label", "group", *text_columns(task)]
    joined: Frame = pd.concat([pd.DataFrame(columns=columns), *parts], ignore_index=True)
    return joined[columns].astype({"label": float})


def check_unchanged(data_dir: Path, task: Task, table: Frame) -> None:
    """Raise DataError where a file has another row now on the line of a row of train or dev, or none.

    A file that is there no more is not looked at.
    """
    for split, name in task.files.items():
        of_file = table[(table["file"] == name) & (table["split"] != "test")]
        file = data_dir / name
        if split == "test" or not len(of_file) or not file.is_file():
            continue
        by_line = {example.line: example for example in readers.read(data_dir, task, split)[0]}
        for row in of_file.to_dict("records"):
            now = by_line.get(row["line"])
            is_same = now is not None and now.label == row["label"]
            if not is_same or any(getattr(now, column) != row[column] for column in text_columns(task)):
                raise DataError(
                    f"{file}, line {row['line']}: the row is another than when this file was read; `dvc repro "
                    "preprocess` reads it again"
                )


def _groups(table: Frame, split: Split) -> list[str] | str:
    """Return what rows that belong together have in common: their split and cluster; of test nothing is known."""
    return "" if split == "test" else [f"{split} {cluster}" for cluster in table["cluster"]]


def columns(table: Frame, task: Task) -> list[list[str]]:
    """Return the texts, a list for each column, as baselines take them."""
    return [table[name].tolist() for name in text_columns(task)]


def as_rows(table: Frame, task: Task) -> Rows:
    """Return the rows as baselines take them."""
    return Rows(
        table["id"].tolist(), columns(table, task), table["label"].to_numpy(float), groups=table["group"].tolist()
    )


def label_in_words(task: Task, label: float) -> str:
    """Return a class, or a set of labels, as the files write it, or a score; nothing where it is missing."""
    if np.isnan(label):
        return ""
    if task.several:
        return sets.in_words(task, label)
    return f"{label:.3g}" if task.kind == "score" else task.class_labels[int(label)]
