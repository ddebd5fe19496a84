"""What an encoder knows before any training: the cosine of two sentences' embeddings is the answer.

An encoder that was itself trained on pairs of sentences knows some of the tasks. A score below its own says that a
training has destroyed more of this than it has taught.

An embedding is the mean over a sentence's tokens, as in Reimers and Gurevych (2019), section 3; each sentence is
encoded on its own. STS-B is scored by Pearson's r of cosine and label, QQP by accuracy: a pair is a duplicate where
its cosine reaches a threshold, which is found on training rows.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from mtbert import files, metrics, seeding
from mtbert.data import readers, tokens
from mtbert.data.batches import Examples
from mtbert.models.encoder import bert, hardware
from mtbert.models.encoder.pooling import pool
from mtbert.schemas import Untrained
from mtbert.tasks import TASKS, Split

FILE = "untrained.json"
MOST_TOKENS = 128  # longer sentences are cut
TRAINING_ROWS = 5000  # that the threshold is found on, drawn at random
SENTENCES = 128  # encoded at once
ALONE = TASKS["sst"]  # a task of single sentences
DECIMALS = 6  # of scores, as many as another order of summation leaves


def write(encoder: Path, data_dir: Path) -> Untrained:
    """Measure the encoder of a directory, and write untrained.json into it."""
    found = measure(encoder, data_dir)
    files.write_json(encoder / FILE, found.model_dump())
    return found


def measure(encoder: Path, data_dir: Path) -> Untrained:
    """Score an encoder on the dev rows of STS-B and QQP; None for a task whose files `data_dir` lacks.

    Raises: DataError where a file cannot be read.
    """
    sts, training, dev = _rows(data_dir, "sts", "dev"), _rows(data_dir, "qqp", "train"), _rows(data_dir, "qqp", "dev")
    answer, rows = cosines(encoder), {}
    r = accuracy = threshold = None
    if sts is not None:
        r, rows["sts/dev"] = metrics.pearson(sts["label"].to_numpy(), answer(sts)), len(sts)
    if training is not None and dev is not None:
        training = training.iloc[seeding.stream(1, "untrained").permutation(len(training))[:TRAINING_ROWS]]
        threshold = best_threshold(training["label"].to_numpy(), answer(training))
        accuracy = metrics.accuracy(dev["label"].to_numpy(), answer(dev) >= threshold)
        rows |= {"qqp/train": len(training), "qqp/dev": len(dev)}
    return Untrained(sts=_rounded(r), qqp=_rounded(accuracy), threshold=_rounded(threshold), rows=rows)


def _rows(data_dir: Path, task: str, split: Split) -> pd.DataFrame | None:
    there = (data_dir / TASKS[task].files[split]).is_file()
    return readers.read(data_dir, TASKS[task], split) if there else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)


def best_threshold(labels: np.ndarray, cosines: np.ndarray) -> float:
    """Return the lowest of the cosines from which on "duplicate" is most often right; labels 0 or 1, both [rows]."""
    order = np.argsort(cosines, kind="stable")
    labels, cosines = labels[order], cosines[order]
    right = np.cumsum(labels == 0) - (labels == 0) + np.cumsum(labels[::-1] == 1)[::-1]  # from this row on: duplicates
    is_first = np.diff(cosines, prepend=-np.inf) > 0  # a threshold does not part equal cosines
    return float(cosines[is_first][np.argmax(right[is_first])])


def cosines(encoder: Path) -> Callable[[pd.DataFrame], np.ndarray]:
    """Return a function from rows with sentence1 and sentence2 to the cosines of their embeddings: [rows]."""
    embed = embeddings(encoder)

    def of_pairs(rows: pd.DataFrame) -> np.ndarray:
        sentences = pd.Index(sorted({*rows["sentence1"], *rows["sentence2"]}))
        embedded = embed([*sentences])
        places = (sentences.get_indexer(rows[column].tolist()) for column in ("sentence1", "sentence2"))
        first, second = (embedded[at] for at in places)
        return np.sum(first * second, axis=1)

    return of_pairs


def embeddings(encoder: Path) -> Callable[[Sequence[str]], np.ndarray]:
    """Return a function from sentences to their embeddings, each of length 1: [sentences, width]."""
    device = hardware.device("auto")
    model = bert.Encoder(bert.read(encoder)).eval().to(device)
    pieces, special = tokens.wordpieces(encoder), tokens.special_tokens(encoder)
    limit = min(MOST_TOKENS, model.bert.config.longest)

    @torch.inference_mode()
    def embed(sentences: Sequence[str]) -> np.ndarray:
        table = {"id": sentences, "label": [np.nan] * len(sentences), "tokens1": pieces([*sentences])}
        embedded = np.zeros((len(sentences), model.width), dtype=np.float32)
        for at, batch in Examples(table, ALONE, "bi", special, limit).in_order(SENTENCES):
            ids, mask = batch.input_ids.to(device), batch.mask.to(device)
            with torch.autocast(device.type, torch.bfloat16, hardware.precision("auto", device) == "bf16"):
                hidden = model(model.words(ids), torch.zeros_like(ids), mask)  # fp32
            embedded[at] = F.normalize(pool("mean", model, hidden, mask), dim=1).cpu().numpy()
        return embedded

    return embed
