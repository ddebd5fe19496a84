"""Which labels are doubtful: those that models which did not train on the row contradict most surely.

Formula: of classes the doubt is 1 - the probability of the label, 0 where the label is predicted; of scores how far the
prediction is from the label. Of several labels a row, each label is a decision: a row has it, or not. The doubt is
1 - the probability of the least probable decision, 0 where no decision is less probable than its contrary. Predictions
are means over models.

Source: self-confidence, in Northcutt et al. (2021), "Confident Learning", section 3; of several labels the minimum over
labels, one of the ways in Thyagarajan et al. (2022), "Identifying Incorrect Annotations in Multi-Label Classification
Data". cleanlab orders the same probabilities in the same way, so it would add nothing here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtbert.baselines import TECHNIQUES, linear, one_vs_rest
from mtbert.baselines.base import Embed
from mtbert.baselines.rows import Rows, text_columns
from mtbert.labelling import rows as labelled
from mtbert.scores import sets
from mtbert.scores.columns import Frame
from mtbert.scores.described import FROZEN
from mtbert.tasks import Task

MOST = 100  # rows of a task
FOLDS = 5
EVEN = 0.5  # the probability of a decision that is as probable as its contrary
COLUMNS = ("text", "text_pair")


def of_other_folds(task: Task, rows: Rows, embed: Embed) -> np.ndarray | None:
    """Predict each row with a frozen encoder's regression on the other folds; None where rows are too alike for folds.

    The first fold's model chooses the penalty of all. Returns the probability of each class, or of each of several
    labels, [rows, classes], or the score [rows, 1].
    """
    regression = one_vs_rest if task.several else linear
    fold = linear.folds(task, rows.labels, rows.clusters(), FOLDS)
    if fold is None:
        return None
    outputs = np.zeros((len(rows.labels), task.classes))
    penalty: float | None = None
    for number in np.unique(fold):
        others, asked = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        train = rows.part(others)
        features = TECHNIQUES[FROZEN].fit(train.columns, embed)
        matrix = features.matrix(train.columns)
        if penalty is None:
            penalty = regression.fit(task, matrix, train.labels, train.clusters()).penalty or linear.DEFAULT
        model = regression.train(task, matrix, train.labels, penalty)
        asked_matrix = features.matrix(rows.part(asked).columns)
        if task.kind == "score":
            outputs[asked, 0] = model.predict(asked_matrix, task)
        else:
            outputs[asked] = model.probabilities(asked_matrix, task.classes)
    return outputs


def ranked(task: Task, labels: np.ndarray, predicted: Sequence[np.ndarray]) -> Frame:
    """Return the most doubtful rows, at most MOST, the most doubtful first.

    Args:
        task: whose labels they are.
        labels: of all rows, [rows].
        predicted: of each model, at least one, the probability of each class, or of each of several labels, [rows,
            classes], or the score [rows, 1]; NaN of rows that it trained on. A row that no model predicts is not
            doubtful.

    Returns:
        By number of the row: `doubt`, `predicted`, `agree`: how many of the models say so, and `models`: how many
        predict the row; of classes also `probability`, of the predicted one, and `probability_of_label`. Of several
        labels, these two are of one decision, on the label that is called `doubtful_label`: that it is wrong, and that
        it is right; and `is_member` says whether the row has that label. Of scores a model agrees that is on the same
        side of the label.
    """
    outputs = np.stack(predicted)  # [models, rows, classes]
    models = (~np.isnan(outputs[:, :, 0])).sum(axis=0)
    means = np.nansum(outputs, axis=0) / np.maximum(models, 1)[:, None]
    if task.kind == "score":
        columns = _of_scores(labels, means, outputs)
    elif task.kind == "sets":
        columns = _of_sets(labels, means, outputs)
    else:
        columns = _of_classes(labels, means, outputs)
    columns["doubt"] = np.where(models > 0, columns["doubt"], 0.0)
    import pandas as pd

    table: Frame = pd.DataFrame({**columns, "models": models})
    return table[table["doubt"] > 0].sort_values("doubt", ascending=False, kind="stable").head(MOST)


def _of_classes(labels: np.ndarray, means: np.ndarray, outputs: np.ndarray) -> dict[str, np.ndarray]:
    every, classes = np.arange(len(labels)), labels.astype(int)
    predicted = means.argmax(axis=1)
    agrees = (outputs.argmax(axis=2) == predicted) & ~np.isnan(outputs[:, :, 0])
    return {
        "doubt": np.where(predicted == classes, 0.0, 1 - means[every, classes]),
        "predicted": predicted.astype(float),
        "probability": means[every, predicted],
        "probability_of_label": means[every, classes],
        "agree": agrees.sum(axis=0),
    }


def _of_sets(labels: np.ndarray, means: np.ndarray, outputs: np.ndarray) -> dict[str, np.ndarray]:
    every, members = np.arange(len(labels)), sets.members_of(labels, means.shape[1])
    decisions = _probabilities_of_decisions(members, means)
    label = decisions.argmin(axis=1)
    least = decisions[every, label]
    agrees = _probabilities_of_decisions(members, outputs)[:, every, label] < EVEN  # False where it is NaN
    return {
        "doubt": np.where(least < EVEN, 1 - least, 0.0),
        "predicted": sets.numbers_of(members ^ (decisions < EVEN)),
        "doubtful_label": label,
        "is_member": members[every, label],
        "probability": 1 - least,
        "probability_of_label": least,
        "agree": agrees.sum(axis=0),
    }


def _probabilities_of_decisions(members: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return how probable it is that rows have each label or not, as `members` say, from those that they have it."""
    return np.where(members, probabilities, 1 - probabilities)


def _of_scores(labels: np.ndarray, means: np.ndarray, outputs: np.ndarray) -> dict[str, np.ndarray]:
    predicted = means[:, 0]
    agrees = np.sign(outputs[:, :, 0] - labels) == np.sign(predicted - labels)
    return {"doubt": np.abs(predicted - labels), "predicted": predicted, "agree": agrees.sum(axis=0)}


def listed(task: Task, table: Frame, doubts: Frame) -> list[dict[str, Any]]:
    """Return a line of the CSV for each doubtful row.

    Args:
        task: whose rows they are.
        table: all rows, as `mtbert.labelling.rows.read` returns them.
        doubts: what `ranked` returned of them.
    """
    lines: list[dict[str, Any]] = []
    places = table.loc[doubts.index].to_dict("records")
    for place, doubt in zip(places, doubts.to_dict("records"), strict=True):
        line = dict(zip(COLUMNS, (place[name] for name in text_columns(task)), strict=False))
        line |= {name: labelled.label_in_words(task, value) for name, value in
                 (("label", place["label"]), ("predicted", doubt["predicted"]))}  # fmt: skip
        if task.several:
            label = task.class_labels[doubt["doubtful_label"]]
            line |= {"change": "take away" if doubt["is_member"] else "add", "doubtful_label": label}
        if task.kind != "score":
            line |= {name: f"{doubt[name]:.3f}" for name in ("probability", "probability_of_label")}
        line |= {name: int(doubt[name]) for name in ("agree", "models")}
        lines.append(line | {name: place[name] for name in ("split", "file", "line", "id")})
    return lines
