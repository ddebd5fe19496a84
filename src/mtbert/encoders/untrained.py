"""What an encoder knows before any training: how far its embeddings alone answer each task.

An encoder that was itself trained on pairs of sentences knows some of the tasks. A score below its own says that a
training has destroyed more of this than it has taught.

An embedding is the mean over a sentence's tokens, as in Reimers and Gurevych (2019), section 3; each sentence is
encoded on its own. A score of pairs, such as STS-B's, is the cosine. Of two classes of pairs, such as QQP's, one is
said where the cosine reaches a threshold, which is found on training rows. The class of a single sentence is that whose
training rows have the nearest mean, by cosine (Snell et al. 2017, section 2.3). Nothing else has an answer.
"""

from pathlib import Path

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

TRAINING_ROWS = 5000  # that a threshold or classes' means are found on, drawn at random
DECIMALS = 6  # of scores, as many as another order of summation leaves


def write(encoder: Path, data_dir: Path) -> dict[str, float]:
    """Score an encoder on the dev rows of each task of the mean, and write untrained.json into its directory.

    A task that has no such answer, or lacks the files, is not in it. Raises: DataError where a file cannot be read.
    """
    tasks = of_folder(data_dir)
    model, found = sbert.sentence_model(encoder, "auto"), dict[str, float]()
    for task in (tasks[name] for name in main(tasks)):
        dev, predicted = _rows(data_dir, task, "dev"), None
        if dev is not None:
            predicted = _predicted(model, task, _rows(data_dir, task, "train"), dev)
        if dev is not None and predicted is not None:
            found[task.name] = round(metrics.of_task(task, dev["label"].to_numpy(), predicted), DECIMALS)
    files.write_json(encoder / layout.UNTRAINED, found)
    return found


def _rows(data_dir: Path, task: Task, split: Split) -> pd.DataFrame | None:
    there = (data_dir / task.files[drawing.source(task, split)]).is_file()
    return pd.DataFrame(drawing.read(data_dir, task, split)[0]) if there else None


def _predicted(
    model: SentenceTransformer, task: Task, train: pd.DataFrame | None, dev: pd.DataFrame
) -> np.ndarray | None:
    """Return the answers to dev rows [rows]; None for a task that has none."""
    if task.is_pair and task.kind == "score":
        return cosines(model, dev)
    if train is None or task.kind == "score" or (task.is_pair and task.kind != "binary"):
        return None
    drawn: pd.DataFrame = train.iloc[seeding.stream(1, "untrained").permutation(len(train))[:TRAINING_ROWS]]
    labels = drawn["label"].to_numpy(int)
    if task.is_pair:
        return beyond_a_threshold(cosines(model, drawn), labels, cosines(model, dev))
    known, asked = (model.encode(rows["sentence1"].tolist(), show_progress_bar=False) for rows in (drawn, dev))
    return nearest(known, labels, asked, task.classes)


def beyond_a_threshold(known: np.ndarray, labels: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return class 1 where a cosine is on the side of the threshold on which training rows of class 1 are: [rows]."""
    side = -1.0 if metrics.pearson(labels, known) < 0 else 1.0
    _, threshold = BinaryClassificationEvaluator.find_best_acc_and_threshold(
        side * known, labels, high_score_more_similar=True
    )
    return (side * asked >= threshold).astype(float)


def nearest(known: np.ndarray, labels: np.ndarray, asked: np.ndarray, classes: int) -> np.ndarray:
    """Return for each of `asked` [rows, width] the class nearest by cosine: the mean of its unit vectors in `known`.

    A class without rows is never said.
    """
    means = np.full((classes, known.shape[1]), np.nan)
    for label in np.unique(labels):
        means[label] = _unit(_unit(known[labels == label]).mean(axis=0))
    return np.nanargmax(_unit(asked) @ means.T, axis=1).astype(float)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def cosines(model: SentenceTransformer, rows: pd.DataFrame) -> np.ndarray:
    """Return the cosines of the embeddings of each row's sentence1 and sentence2: [rows]."""
    columns = (rows["sentence1"].tolist(), rows["sentence2"].tolist())
    first, second = (model.encode(texts, show_progress_bar=False) for texts in columns)
    return pairwise_cos_sim(first, second).numpy()
