"""What an encoder knows before any training: how far its embeddings alone answer each task.

An encoder that was itself trained on pairs of sentences knows some of the tasks. A score below its own says that a
training has destroyed more of this than it has taught.

An embedding is the mean over a sentence's tokens, as in Reimers and Gurevych (2019), section 3; each sentence is
encoded on its own. A score of pairs, such as STS-B's, is the cosine. Of two classes of pairs, such as QQP's, class 1 is
predicted where the cosine reaches a threshold, which is chosen on training rows. The class of a single sentence is that
whose training rows have the nearest mean, by cosine (Snell et al. 2017, section 2.3). Other tasks are not scored.
"""

import numpy as np
from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator

from mtbert import seeding
from mtbert.baselines.base import Columns, Embed
from mtbert.baselines.embeddings import unit
from mtbert.baselines.rows import Rows
from mtbert.scores import metrics
from mtbert.tasks import Task

TRAINING_ROWS = 5000  # on which a threshold or classes' means are computed, drawn at random


def predictions(task: Task, train: Rows | None, columns: Columns, embed: Embed) -> np.ndarray | None:
    """Return the predictions of rows, by their one or two `columns` of sentences: [rows]; None for other tasks."""
    if task.is_pair and task.kind == "score":
        return cosines(columns, embed)
    if train is None or task.kind in ("score", "sets") or (task.is_pair and task.kind != "binary"):
        return None
    drawn = seeding.stream(1, "untrained").permutation(len(train.labels))[:TRAINING_ROWS]
    known, labels = [[column[row] for row in drawn] for column in train.columns], train.labels[drawn].astype(int)
    if task.is_pair:
        return beyond_a_threshold(cosines(known, embed), labels, cosines(columns, embed))
    return nearest(embed(known[0]), labels, embed(columns[0]), task.classes)


def beyond_a_threshold(train: np.ndarray, labels: np.ndarray, dev: np.ndarray) -> np.ndarray:
    """Return class 1 where a cosine is on the side of the threshold on which training rows of class 1 are: [rows].

    Args:
        train: cosines of training rows.
        labels: their classes.
        dev: cosines of the rows to predict.
    """
    side = -1.0 if metrics.pearson(labels, train) < 0 else 1.0
    _, threshold = BinaryClassificationEvaluator.find_best_acc_and_threshold(
        side * train, labels, high_score_more_similar=True
    )
    return (side * dev >= threshold).astype(float)


def nearest(train: np.ndarray, labels: np.ndarray, dev: np.ndarray, classes: int) -> np.ndarray:
    """Return for each of `dev` [rows, width] the class nearest by cosine: the mean of its unit vectors in `train`.

    A class without training rows is never predicted.
    """
    means = np.full((classes, train.shape[1]), np.nan)
    for label in np.unique(labels):
        means[label] = unit(unit(train[labels == label]).mean(axis=0))
    return np.nanargmax(unit(dev) @ means.T, axis=1).astype(float)


def cosines(columns: Columns, embed: Embed) -> np.ndarray:
    """Return the cosine of the embeddings of each row's two sentences: [rows]."""
    first, second = (unit(embed(texts)) for texts in columns)
    return (first * second).sum(axis=1)
