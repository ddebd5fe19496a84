"""What an encoder knows before any training: the cosine of two sentences' embeddings is the answer.

An encoder that was itself trained on pairs of sentences knows some of the tasks. A score below its own says that a
training has destroyed more of this than it has taught.

An embedding is the mean over a sentence's tokens, as in Reimers and Gurevych (2019), section 3; each sentence is
encoded on its own. STS-B is scored by Pearson's r of cosine and label, QQP by accuracy: a pair is a duplicate where
its cosine reaches a threshold, which is found on training rows.
"""

from collections.abc import Callable
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
from mtbert.outputs import Untrained
from mtbert.tasks import TASKS, Split

FILE = "untrained.json"
MOST_TOKENS = 128  # longer sentences are cut
TRAINING_ROWS = 5000  # that the threshold is found on, drawn at random
PAIRS = 64  # encoded at once
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
    """Return a function from rows, as `readers.read` returns them, to the cosines of their embeddings: [rows]."""
    device = hardware.device("auto")
    precise = hardware.precision("auto", device) == "fp32"
    model = bert.Encoder(bert.read(encoder)).eval().to(device)
    pieces, special = tokens.wordpieces(encoder), tokens.special_tokens(encoder)
    limit = min(MOST_TOKENS, model.bert.config.longest)

    @torch.inference_mode()
    def of_pairs(rows: pd.DataFrame) -> np.ndarray:
        table = rows.assign(tokens1=pieces([*rows["sentence1"]]), tokens2=pieces([*rows["sentence2"]]))
        found = np.zeros(len(rows), dtype=np.float32)
        for picks, batch in Examples(table, TASKS["sts"], "bi", special, limit).in_order(PAIRS):
            ids, mask = batch.input_ids.to(device), batch.mask.to(device)
            with torch.autocast(device.type, torch.bfloat16, enabled=not precise):
                hidden = model(model.words(ids), torch.zeros_like(ids), mask)  # fp32
            first, second = F.normalize(pool("mean", model, hidden, mask), dim=1).chunk(2)
            found[picks] = (first * second).sum(dim=1).cpu().numpy()
        return found

    return of_pairs
