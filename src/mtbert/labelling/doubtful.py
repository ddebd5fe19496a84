"""Which labels are doubtful: those that models which did not train on the row contradict most surely.

Formula: of classes the doubt is 1 - the probability of the label, 0 where the label is predicted; of scores how far the
prediction is from the label. Predictions are means over models.

Source: self-confidence, in Northcutt et al. (2021), "Confident Learning", section 3. cleanlab orders the same
probabilities in the same way, so it would add nothing here.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mtbert.baselines import TECHNIQUES, linear
from mtbert.baselines.rows import Rows
from mtbert.labelling import rows as labelled
from mtbert.scores.columns import Frame
from mtbert.scores.described import FROZEN
from mtbert.tasks import Task

MOST = 100  # rows of a task
FOLDS = 5
COLUMNS = ("text", "text_pair")


def of_other_folds(task: Task, rows: Rows, embed: Callable[..., np.ndarray]) -> np.ndarray | None:
    """Predict each row with a frozen encoder's regression on the other folds; None where rows are too alike for folds.

    The first fold's model chooses the penalty of all. Returns the probability of each class [rows, classes], or the
    score [rows, 1].
    """
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
            penalty = linear.fit(task, matrix, train.labels, train.clusters()).penalty or linear.DEFAULT
        model = linear.train(task, matrix, train.labels, penalty)
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
        predicted: of each model, at least one, the probability of each class [rows, classes], or the score [rows, 1];
            NaN of rows that it trained on. A row that no model predicts is not doubtful.

    Returns:
        By number of the row: `doubt`, `predicted`, `agree`: how many of the models say so, and `models`: how many
        predict the row; of classes also `probability`, of the predicted one, and `probability_of_label`. Of scores a
        model agrees that is on the same side of the label.
    """
    outputs = np.stack(predicted)  # [models, rows, classes]
    models = (~np.isnan(outputs[:, :, 0])).sum(axis=0)
    means = np.nansum(outputs, axis=0) / np.maximum(models, 1)[:, None]
    columns = _of_scores(labels, means) if task.kind == "score" else _of_classes(labels, means)
    columns["doubt"] = np.where(models > 0, columns["doubt"], 0.0)
    agree = _agree(task, labels, columns["predicted"], outputs).sum(axis=0)
    import pandas as pd

    table: Frame = pd.DataFrame({**columns, "agree": agree, "models": models})
    return table[table["doubt"] > 0].sort_values("doubt", ascending=False, kind="stable").head(MOST)


def _of_classes(labels: np.ndarray, means: np.ndarray) -> dict[str, np.ndarray]:
    every, classes = np.arange(len(labels)), labels.astype(int)
    predicted = means.argmax(axis=1)
    return {
        "doubt": np.where(predicted == classes, 0.0, 1 - means[every, classes]),
        "predicted": predicted.astype(float),
        "probability": means[every, predicted],
        "probability_of_label": means[every, classes],
    }


def _of_scores(labels: np.ndarray, means: np.ndarray) -> dict[str, np.ndarray]:
    return {"doubt": np.abs(means[:, 0] - labels), "predicted": means[:, 0]}


def _agree(task: Task, labels: np.ndarray, predicted: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return which models see a row as all of them together do, [models, rows]; False of rows that one trained on."""
    if task.kind == "score":
        return np.sign(outputs[:, :, 0] - labels) == np.sign(predicted - labels)
    return (outputs.argmax(axis=2) == predicted) & ~np.isnan(outputs[:, :, 0])


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
        line = dict(zip(COLUMNS, (place[name] for name in labelled.texts(task)), strict=False))
        line |= {name: labelled.label_in_words(task, value) for name, value in
                 (("label", place["label"]), ("predicted", doubt["predicted"]))}  # fmt: skip
        if task.kind != "score":
            line |= {name: f"{doubt[name]:.3f}" for name in ("probability", "probability_of_label")}
        line |= {name: int(doubt[name]) for name in ("agree", "models")}
        lines.append(line | {name: place[name] for name in ("split", "file", "line", "id")})
    return lines
