"""What an encoder knows before any training: the cosine of two sentences' embeddings is the answer.

An encoder that was itself trained on pairs of sentences knows some of the tasks. A score below its own says that a
training has destroyed more of this than it has taught.

An embedding is the mean over a sentence's tokens, as in Reimers and Gurevych (2019), section 3; each sentence is
encoded on its own. STS-B is scored by Pearson's r of cosine and label, QQP by accuracy: a pair is a duplicate where
its cosine reaches a threshold, which is found on training rows.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator
from sentence_transformers.util import pairwise_cos_sim

from mtbert import files, seeding
from mtbert.data import readers
from mtbert.encoders import sbert
from mtbert.results import metrics
from mtbert.results.schemas import Untrained
from mtbert.tasks import COURSE, Split, of_folder

FILE = "untrained.json"
TRAINING_ROWS = 5000  # that the threshold is found on, drawn at random
DECIMALS = 6  # of scores, as many as another order of summation leaves


def write(encoder: Path, data_dir: Path) -> Untrained:
    """Score an encoder on the dev rows of STS-B and QQP, and write untrained.json into its directory.

    A score is None where `data_dir` has other tasks, or lacks the files. Raises: DataError where a file cannot be read.
    """
    sts, training, dev = _rows(data_dir, "sts", "dev"), _rows(data_dir, "qqp", "train"), _rows(data_dir, "qqp", "dev")
    model, r, accuracy = sbert.sentence_model(encoder, "auto"), None, None
    if sts is not None:
        r = round(metrics.pearson(sts["label"].to_numpy(), cosines(model, sts)), DECIMALS)
    if training is not None and dev is not None:
        training = training.iloc[seeding.stream(1, "untrained").permutation(len(training))[:TRAINING_ROWS]]
        _, threshold = BinaryClassificationEvaluator.find_best_acc_and_threshold(
            cosines(model, training), training["label"].to_numpy(), high_score_more_similar=True
        )
        accuracy = round(metrics.accuracy(dev["label"].to_numpy(), cosines(model, dev) >= threshold), DECIMALS)
    found = Untrained(sts=r, qqp=accuracy)
    files.write_json(encoder / FILE, found.model_dump())
    return found


def _rows(data_dir: Path, task: str, split: Split) -> pd.DataFrame | None:
    described = COURSE[task]
    there = of_folder(data_dir) is COURSE and (data_dir / described.files[split]).is_file()
    return pd.DataFrame(readers.read(data_dir, described, split)[0]) if there else None


def cosines(model: SentenceTransformer, rows: pd.DataFrame) -> np.ndarray:
    """Return the cosines of the embeddings of each row's sentence1 and sentence2: [rows]."""
    columns = (rows["sentence1"].tolist(), rows["sentence2"].tolist())
    first, second = (model.encode(texts, show_progress_bar=False) for texts in columns)
    return pairwise_cos_sim(first, second).numpy()
