"""Near-duplicates that do harm: those with another label, and those on two sides of a split.

Two rows are near-duplicates if their texts are the same, case, spacing and punctuation dropped, or if the cosine of
their embeddings reaches NEAR; of pairs, both texts have to be, in either order.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mtbert.baselines.base import Embed
from mtbert.baselines.embeddings import unit
from mtbert.baselines.rows import text_columns
from mtbert.data import checks
from mtbert.labelling import rows as labelled
from mtbert.labelling.doubtful import COLUMNS
from mtbert.scores.columns import Frame
from mtbert.tasks import Task

NEAR = 0.95  # cosine
MOST_ROWS = 50_000  # that are compared by cosine; of more, the same texts alone are found
MOST = 100  # pairs of a kind
BLOCK = 500  # rows that are compared with all others at once
MOST_ALIKE = 0.005  # share of all pairs of rows; an encoder that finds more of them near does not tell texts apart
FAR = 0.2  # of a score's range: labels that differ by less are not other labels


class Harm(StrEnum):
    """What two near-duplicates do."""

    OTHER_LABEL = "other label"
    BOTH_SPLITS = "both splits"


class Pair(NamedTuple):
    """Two rows by number, the earlier one first, and the cosine of their texts; 1 where these are the same."""

    harm: Harm
    first: int
    second: int
    cosine: float


def tells_apart(task: Task, table: Frame, embed: Embed) -> bool:
    """Return whether an encoder's cosines say which rows are near-duplicates, from BLOCK rows; of fewer nobody knows.

    Those of encoders that embed no sentences may be near 1 for any two texts.
    """
    if len(table) < BLOCK:
        return True
    texts = labelled.columns(table, task)
    rows = np.linspace(0, len(table) - 1, BLOCK).astype(int)
    same = _numbers_of_texts(texts)
    is_near = _cosines([unit(embed(column)) for column in texts], rows) >= NEAR
    return float((is_near & (same[rows, None] != same)).mean()) <= MOST_ALIKE


def find(task: Task, table: Frame, embed: Embed | None) -> list[Pair]:
    """Return each row's nearest row that does harm, once, the most alike first.

    Args:
        task: whose rows they are.
        table: all rows, as `mtbert.labelling.rows.read` returns them.
        embed: an encoder; None compares the texts alone.
    """
    texts = labelled.columns(table, task)
    same = _numbers_of_texts(texts)
    labels, splits = table["label"].to_numpy(float), pd.factorize(table["split"])[0]
    far = FAR * (task.highest - task.lowest) if task.kind == "score" else 0.5
    vectors = None if embed is None else [unit(embed(column)) for column in texts]
    pairs: dict[tuple[Harm, int, int], float] = {}
    for rows in np.array_split(np.arange(len(table)), max(1, -(-len(table) // BLOCK))):
        alike = (same[rows, None] == same).astype(np.float32)
        if vectors is not None:
            alike = np.maximum(alike, _cosines(vectors, rows))
        is_other = {
            Harm.OTHER_LABEL: np.abs(labels[rows, None] - labels) >= far,  # False where a label is missing
            Harm.BOTH_SPLITS: splits[rows, None] != splits,
        }
        for harm, mask in is_other.items():
            harmful = np.where(mask, alike, 0.0)
            nearest = harmful.argmax(axis=1)
            for row, other, cosine in zip(rows, nearest, harmful.max(axis=1), strict=True):
                if cosine >= NEAR:
                    pairs[harm, int(min(row, other)), int(max(row, other))] = float(min(cosine, 1.0))
    every = [Pair(*key, cosine) for key, cosine in pairs.items()]
    return sorted(every, key=lambda pair: (pair.harm != Harm.OTHER_LABEL, -pair.cosine, pair.first, pair.second))


def _numbers_of_texts(columns: Sequence[Sequence[str]]) -> np.ndarray:
    """Return a number for each row, [rows], which rows of the same texts share."""
    return np.unique([_unpunctuated(row) for row in zip(*columns, strict=True)], return_inverse=True)[1]


def _unpunctuated(texts: Sequence[str]) -> str:
    return "\n".join(sorted(checks.unpunctuated(text) for text in texts))


def _cosines(vectors: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return the cosines of some rows with all, [some, rows]; of pairs the smaller one, in the better order."""
    if len(vectors) == 1:
        return vectors[0][rows] @ vectors[0].T
    first, second = vectors
    straight = np.minimum(first[rows] @ first.T, second[rows] @ second.T)
    crossed = np.minimum(first[rows] @ second.T, second[rows] @ first.T)
    return np.maximum(straight, crossed)


def listed(task: Task, table: Frame, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return a line of the CSV for each pair, at most MOST of a kind."""
    lines: list[dict[str, Any]] = []
    for harm in Harm:
        for pair in [pair for pair in pairs if pair.harm == harm][:MOST]:
            line: dict[str, Any] = {"what": harm.value, "cosine": f"{pair.cosine:.3f}"}
            for prefix, number in (("", pair.first), ("other_", pair.second)):
                row = table.iloc[number].to_dict()
                of_row: dict[str, Any] = dict(zip(COLUMNS, (row[name] for name in text_columns(task)), strict=False))
                of_row["label"] = labelled.label_in_words(task, row["label"])
                of_row |= {name: row[name] for name in ("split", "file", "line")}
                line |= {prefix + name: value for name, value in of_row.items()}
            lines.append(line)
    return lines
