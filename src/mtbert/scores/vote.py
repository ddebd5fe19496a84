"""Combine the predictions of several models by a vote.

Classes are voted by majority; a tie goes to the tied class with the highest summed probability. Of a set, each label is
voted; in a tie a row has it whose mean probability is above a half. Scores are averaged.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from mtbert.errors import DataError
from mtbert.scores import predictions, sets
from mtbert.scores.columns import Frame
from mtbert.tasks import Task

SAME = ["id", "label", "scored"]  # for all members: else a vote has no score


def vote(tables: Mapping[str, Frame], task: Task) -> Frame:
    """Return the first member's prediction table with the voted predictions, and the members' mean probabilities.

    Args:
        tables: by member, at least one; columns as in `mtbert.scores.predictions`.
        task: the task that they predict.

    Raises:
        DataError: the members' rows are not the same, in the same order; the message names the members.
    """
    _check_same_rows(tables, task)
    return combined([*tables.values()], task)


def combined(tables: Sequence[Frame], task: Task) -> Frame:
    """Return the first table with the voted predictions, and the mean probabilities, of tables of the same rows."""
    first = tables[0]
    columns = predictions.probability_columns(task)
    predicted = np.stack([table["prediction"].to_numpy(dtype=float) for table in tables])  # [members, rows]
    if not columns:
        return first.assign(prediction=predicted.mean(axis=0))
    probabilities = np.stack([table[columns].to_numpy(dtype=float) for table in tables])  # [..., classes]
    means = dict(zip(columns, probabilities.mean(axis=0).T, strict=True))
    voted = _majority_of_labels if task.several else _majority
    return first.assign(prediction=voted(predicted, probabilities), **means)


def _check_same_rows(tables: Mapping[str, Frame], task: Task) -> None:
    (first, table), *others = tables.items()
    for member, other_table in others:
        if unlike := [column for column in SAME if not other_table[column].equals(table[column])]:
            raise DataError(
                f"{first} and {member} differ in {', '.join(unlike)} of {task.name}, so they cannot vote; train both "
                "on the same data, with the same settings `run`"
            )


def _majority_of_labels(predicted: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the voted sets [rows]; arguments as of `_majority`."""
    count = probabilities.shape[2]
    shares = np.mean([sets.members_of(of_member, count) for of_member in predicted], axis=0)  # [rows, labels]
    return sets.numbers_of((shares > 0.5) | ((shares == 0.5) & (probabilities.mean(axis=0) > 0.5)))


def _majority(predicted: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the voted classes [rows] of predictions [members, rows] and probabilities [members, rows, classes]."""
    classes = np.arange(probabilities.shape[2])
    votes = (predicted[:, :, None] == classes).sum(axis=0)  # [rows, classes]
    leads = votes == votes.max(axis=1, keepdims=True)
    leaders_probability = np.where(leads, probabilities.sum(axis=0), -np.inf)
    return leaders_probability.argmax(axis=1).astype(float)
