"""The rows of a split, as preprocessing left them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mtbert import files, layout, seeding
from mtbert.data import checks
from mtbert.data.readers import Example
from mtbert.tasks import Split, Task

MOST = 200_000  # rows of train, drawn at random of more: their features have to fit into memory


@dataclass(frozen=True)
class Rows:
    """The rows of a split.

    Attributes:
        ids: [rows].
        columns: for each of one or two sentences, its texts [rows].
        labels: [rows]; NaN where unlabelled.
        groups: a name for each row, the same for rows that belong together, empty of a row alone; none if all are.
        folds: of train and dev of a task with folds, the fold of each row, [rows]; else None.
    """

    ids: Sequence[str]
    columns: list[list[str]]
    labels: np.ndarray
    folds: np.ndarray | None = None
    groups: Sequence[str] = ()

    @classmethod
    def of_examples(cls, examples: Sequence[Example], task: Task) -> "Rows":
        """Return rows as a file of the data folder has them."""
        columns = [[row.sentence1 for row in examples], [row.sentence2 or "" for row in examples]]
        labels = np.array([row.label for row in examples], dtype=float)
        groups = [row.group for row in examples]
        return cls([row.id for row in examples], columns[: len(task.sentences)], labels, groups=groups)

    @property
    def texts(self) -> list[str]:
        """All sentences."""
        return [text for column in self.columns for text in column]

    def part(self, numbers: np.ndarray) -> "Rows":
        """Return some rows by their numbers."""
        picks: list[int] = numbers.tolist()
        columns = [[column[pick] for pick in picks] for column in self.columns]
        folds = None if self.folds is None else self.folds[numbers]
        groups = [self.groups[pick] for pick in picks] if self.groups else ()
        return Rows([self.ids[pick] for pick in picks], columns, self.labels[numbers], folds, groups)

    def clusters(self) -> np.ndarray:
        """Return each row's cluster, [rows], whose rows share a sentence or group, directly or through others."""
        second = self.columns[1] if len(self.columns) > 1 else [None] * len(self.ids)
        groups = self.groups or [""] * len(self.ids)
        rows = zip(self.ids, self.columns[0], second, groups, strict=True)
        examples = (Example(name, one, two, None, line=0, group=group) for name, one, two, group in rows)
        return checks.clusters(checks.digests(examples))


def text_columns(task: Task) -> list[str]:
    """Return the columns of a row's one or two texts in the files of examples."""
    return ["sentence1", "sentence2"][: len(task.sentences)]


def read(data: Path, task: Task, split: Split) -> Rows | None:
    """Read the rows of a split from the folder of all examples; None where it has none.

    Of train, only rows with labels, and at most MOST. Rows of train that are one cluster there are one group here.
    """
    file = layout.examples(data, task.name, split)
    if not file.is_file():
        return None
    names = text_columns(task)
    has_folds = task.folds and split != "test"
    table = files.read_parquet(file, ["id", "label", "cluster", *names, *(["fold"] if has_folds else [])])
    if split == "train":
        table = table[table["label"].notna()]
        order = seeding.stream(0, "baselines", "rows", task.name).permutation(len(table))
        table = table.iloc[np.sort(order[:MOST])]
    folds = table["fold"].to_numpy() if has_folds else None
    groups: list[str] = table["cluster"].astype(str).tolist() if split == "train" else []
    columns = [table[name].tolist() for name in names]
    return Rows(table["id"].tolist(), columns, table["label"].to_numpy(float), folds, groups)
