"""Groups of dev rows on which a way is proved to be worse than on all others.

A class is predicted right or not, and so is a set of labels, which has to equal the row's; a score counts with how far
it is off, so that the range of a group's labels does not matter. The trainings are taken as they are: the proof is
about other rows, not about other seeds. All groups of all tasks are corrected together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from mtbert.scores.columns import Frame
from mtbert.scores.results import Results
from mtbert.stats import ONE_SIDED, Estimate, Side, difference, holm
from mtbert.tasks import Task, main

LEAST = 20  # clusters of a group, and of all others


class Grouping(StrEnum):
    """What rows are grouped by."""

    LENGTH = "length"
    SCRIPT = "script"
    CLASS = "class"
    COLUMN = "column"


Groups = Mapping[tuple[Grouping, str], Sequence[str]]  # of each dev row its group; with a column's name


@dataclass(frozen=True)
class Group:
    """A group of rows.

    Attributes:
        task: whose rows they are.
        by, column, name: what rows were grouped by, the column if it is one, and what these rows have in common.
        rows: how many.
        inside, outside: of classes the share that is right, of scores the mean distance from the label.
        difference: of right answers, or of less distance, to all other rows; below 0 where the group is worse.
        p: one-sided, of the group not being worse; corrected for all groups.
    """

    task: Task
    by: Grouping
    column: str
    name: str
    rows: int
    inside: float
    outside: float
    difference: Estimate
    p: float

    @property
    def is_worse(self) -> bool:
        """Whether the way is proved to be worse on it."""
        return self.p <= ONE_SIDED


def compare(results: Results, names: Sequence[str], grouped: Mapping[str, Groups]) -> list[Group]:
    """Return all groups that have enough rows, first those on which a way is the farthest below its other rows.

    Args:
        results: those that are judged.
        names: the variants of the way.
        grouped: by task, the groups of its dev rows, beside the classes.
    """
    groups: list[Group] = []
    for name in main(results.tasks):
        rows = results.scored(name)
        rows = rows[rows["variant"].isin([*names])]
        if len(rows):
            groups += _groups(rows, results.tasks[name], grouped.get(name, {}))
    corrected = holm([group.p for group in groups])
    judged = [replace(group, p=p) for group, p in zip(groups, corrected, strict=True)]
    return sorted(judged, key=lambda group: group.difference.mean)


def _groups(predicted: Frame, task: Task, names: Groups) -> Iterator[Group]:
    """Yield each group of a task that has enough rows."""
    off = (predicted["prediction"] - predicted["label"]).abs()
    merit = -off if task.kind == "score" else (off == 0).astype(float)
    by_row = predicted.assign(merit=merit).groupby("row").agg({"merit": "mean", "label": "first", "cluster": "first"})
    values, clusters = by_row["merit"].to_numpy(), by_row["cluster"].to_numpy()
    every: dict[tuple[Grouping, str], np.ndarray] = {
        key: np.array(of_rows, dtype=object)[by_row.index.to_numpy(int)] for key, of_rows in names.items()
    }
    if task.has_one_class:
        every[Grouping.CLASS, ""] = np.array([task.class_names[int(label)] for label in by_row["label"]], dtype=object)
    for (by, column), of_rows in every.items():
        for name in dict.fromkeys(sorted(filter(None, of_rows))):
            is_inside = of_rows == name
            if min(len(np.unique(clusters[part])) for part in (is_inside, ~is_inside)) >= LEAST:
                to_rest = less_the_rest(values, is_inside, clusters)
                inside, outside = (abs(float(values[part].mean())) for part in (is_inside, ~is_inside))
                p, count = to_rest.p_at_least(0), int(is_inside.sum())
                yield Group(task, by, column, name, count, inside, outside, to_rest, p)


def less_the_rest(values: np.ndarray, is_inside: np.ndarray, clusters: np.ndarray) -> Estimate:
    """Return the mean over a group of rows less that over all others; rows of a cluster move both.

    Args:
        values: of a row how good its predictions are, [rows].
        is_inside: which rows are of the group, some and not all, [rows].
        clusters: a number for each row, equal for rows of a cluster.
    """
    return difference(_mean(values, is_inside, clusters), _mean(values, ~is_inside, clusters))


def _mean(values: np.ndarray, is_inside: np.ndarray, clusters: np.ndarray) -> Side:
    distinct, cluster_of_row = np.unique(clusters, return_inverse=True)
    mean, count = values[is_inside].mean(), is_inside.sum()
    moves = np.bincount(cluster_of_row, np.where(is_inside, values - mean, 0.0) / count, len(distinct))
    of_group = len(np.unique(clusters[is_inside]))
    return Side(np.array([mean]), moves[:, None], int(count), of_group, has_seeds=False)
