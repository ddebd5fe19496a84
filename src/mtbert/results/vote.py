"""Combine the predictions of several models by a vote.

Classes are voted by majority; a tie goes to the tied class with the highest summed probability. Scores are averaged.
"""

from collections.abc import Mapping

import numpy as np

from mtbert.errors import DataError
from mtbert.results import predictions
from mtbert.results.tables import Frame
from mtbert.tasks import Task

SAME = ["id", "label", "scored"]  # for all members: else a vote has no score


def vote(tables: Mapping[str, Frame], task: Task) -> Frame:
    """Return the first member's prediction table with the voted predictions, and the members' mean probabilities.

    Args:
        tables: by member, at least one; columns as in `mtbert.results.predictions`.
        task: the task that they predict.

    Raises:
        DataError: the members' rows are not the same, in the same order; the message names the members.
    """
    (first, voted), *others = tables.items()
    for member, table in others:
        if unlike := [column for column in SAME if not table[column].equals(voted[column])]:
            raise DataError(
                f"{first} and {member} differ in {', '.join(unlike)} of {task.name}, so they cannot vote; train both "
                "on the same data, with the same settings `run`"
            )
    columns = predictions.probability_columns(task)
    cast = np.stack([table["prediction"].to_numpy(dtype=float) for table in tables.values()])  # [members, rows]
    if not columns:
        return voted.assign(prediction=cast.mean(axis=0))
    probabilities = np.stack([table[columns].to_numpy(dtype=float) for table in tables.values()])  # [..., classes]
    counts = (cast[:, :, None] == np.arange(len(columns))).sum(axis=0)  # [rows, classes]
    leads = counts == counts.max(axis=1, keepdims=True)
    result = np.where(leads, probabilities.sum(axis=0), -np.inf).argmax(axis=1).astype(float)
    return voted.assign(prediction=result, **dict(zip(columns, probabilities.mean(axis=0).T, strict=True)))
