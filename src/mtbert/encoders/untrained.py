"""What an encoder knows before any training: how far its embeddings alone answer each task.

An encoder that was itself trained on pairs of sentences knows some of the tasks. A score below its own says that a
training has destroyed more of this than it has taught.

An embedding is the mean over a sentence's tokens, as in Reimers and Gurevych (2019), section 3; each sentence is
encoded on its own. A score of pairs, such as STS-B's, is the cosine. Of two classes of pairs, such as QQP's, class 1 is
predicted where the cosine reaches a threshold, which is chosen on training rows. The class of a single sentence is that
whose training rows have the nearest mean, by cosine (Snell et al. 2017, section 2.3). Other tasks are not scored.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator
from sentence_transformers.util import pairwise_cos_sim

from mtbert import files, layout, seeding
from mtbert.data import drawing
from mtbert.encoders import sbert
from mtbert.results import metrics
from mtbert.tasks import Split, Task, main, of_folder

TRAINING_ROWS = 5000  # on which a threshold or classes' means are computed, drawn at random
DECIMALS = 6  # of scores, as many as another order of summation leaves


def write(encoder: Path, data_dir: Path) -> dict[str, float]:
    """Score an encoder on the dev rows of each task of the mean, and write untrained.json into its directory.

    A task that cannot be scored so, or lacks the files, is not in it. Raises: DataError where a file cannot be read.
    """
    tasks = of_folder(data_dir)
    model = sbert.sentence_model(encoder, "auto")
    scores: dict[str, float] = {}
    for name in main(tasks):
        score = _score(model, tasks[name], data_dir)
        if score is not None:
            scores[name] = round(score, DECIMALS)
    files.write_json(encoder / layout.UNTRAINED, scores)
    return scores


def _score(model: SentenceTransformer, task: Task, data_dir: Path) -> float | None:
    """Return the score of dev rows; None for a task that has no prediction, or no dev rows."""
    dev = _rows(data_dir, task, "dev")
    if dev is None:
        return None
    predictions = _predictions(model, task, _rows(data_dir, task, "train"), dev)
    if predictions is None:
        return None
    return metrics.of_task(task, dev["label"].to_numpy(), predictions)


def _rows(data_dir: Path, task: Task, split: Split) -> pd.DataFrame | None:
    """Return the rows of a split; None where their file is missing."""
    if not (data_dir / task.files[drawing.source(task, split)]).is_file():
        return None
    return pd.DataFrame(drawing.read(data_dir, task, split).examples)


def _predictions(
    model: SentenceTransformer, task: Task, train: pd.DataFrame | None, dev: pd.DataFrame
) -> np.ndarray | None:
    """Return the predictions of dev rows [rows]; None for a task that has none."""
    if task.is_pair and task.kind == "score":
        return cosines(model, dev)
    if train is None or task.kind == "score" or (task.is_pair and task.kind != "binary"):
        return None
    order = seeding.stream(1, "untrained").permutation(len(train))
    drawn: pd.DataFrame = train.iloc[order[:TRAINING_ROWS]]
    labels = drawn["label"].to_numpy(int)
    if task.is_pair:
        return beyond_a_threshold(cosines(model, drawn), labels, cosines(model, dev))
    return nearest(_embeddings(model, drawn["sentence1"]), labels, _embeddings(model, dev["sentence1"]), task.classes)


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
        means[label] = _unit(_unit(train[labels == label]).mean(axis=0))
    return np.nanargmax(_unit(dev) @ means.T, axis=1).astype(float)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def cosines(model: SentenceTransformer, rows: pd.DataFrame) -> np.ndarray:
    """Return the cosines of the embeddings of each row's sentence1 and sentence2: [rows]."""
    first = _embeddings(model, rows["sentence1"])
    second = _embeddings(model, rows["sentence2"])
    return pairwise_cos_sim(first, second).numpy()


def _embeddings(model: SentenceTransformer, sentences: Any) -> np.ndarray:
    """Return an embedding for each sentence: [rows, width]."""
    return model.encode(sentences.tolist(), show_progress_bar=False)
