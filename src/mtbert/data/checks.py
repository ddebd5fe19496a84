"""Find duplicates in a corpus, and what two corpora share.

Sentences are compared in two forms: with case and spacing folded, and with punctuation dropped as well. A pair equals
another in either order. For each form only a digest of 8 bytes is kept of a row, so that corpora of any size can be
compared. Two different rows share a digest with a probability of 2^-64.
"""

import hashlib
import re
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mtbert.data.readers import Example

DIGEST = 8  # bytes, as many as an item of array("Q") has
NOT_WORDS = re.compile(r"[^\w\s]")


def folded(text: str) -> str:
    """Return the text with case and spacing folded: `"A  dog. "` is `"a dog."`."""
    return " ".join(text.casefold().split())


def bare(text: str) -> str:
    """Return the text folded, without punctuation and symbols: `"It 's  $5!"` is `"it s 5"`."""
    return folded(NOT_WORDS.sub("", text))


def digest(*texts: str) -> bytes:
    """Return a digest of texts in any order; b"\\xff", which no UTF-8 holds, separates them."""
    return hashlib.blake2b(b"\xff".join(sorted(text.encode() for text in texts)), digest_size=DIGEST).digest()


class Index:
    """The rows of one corpus in a form to compare: 48 bytes for a row with two sentences, 40 for a row with one.

    Attributes:
        folded, bare: by form, a digest of each row; equal digests are equal sentences, in either order.
        sentences: one digest for each sentence of each row (folded); as many for each row.
        lines, labels: of each row; NaN where there is no label.
    """

    def __init__(self, rows: Iterable[Example] = ()) -> None:
        self.folded, self.bare = array("Q"), array("Q")
        self.sentences = array("Q")
        self.lines = array("q")
        self.labels = array("d")
        for row in rows:
            self.add(row)

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, row: Example) -> None:
        """Add a row; all rows have the same number of sentences."""
        texts = [text for text in (row.sentence1, row.sentence2) if text is not None]
        self.folded.frombytes(digest(*map(folded, texts)))
        self.bare.frombytes(digest(*map(bare, texts)))
        for text in texts:
            self.sentences.frombytes(digest(folded(text)))
        self.lines.append(row.line)
        self.labels.append(float("nan") if row.label is None else row.label)

    def matrix(self) -> np.ndarray:
        """Return the digests of the sentences, [rows, sentences]."""
        return np.asarray(self.sentences).reshape(len(self), -1)


def duplicates(rows: Index) -> int:
    """Count the rows whose sentences an earlier row has, case and spacing folded."""
    return len(rows) - len(np.unique(np.asarray(rows.folded)))


def sharing(rows: Index, others: Index) -> np.ndarray:
    """Return a mask [rows] of the rows with a sentence that occurs anywhere in `others`, case and spacing folded."""
    return np.asarray(np.isin(rows.matrix(), others.sentences).any(axis=1))


def seen(rows: Index, *others: Index) -> np.ndarray:
    """Return a mask [rows] of the rows whose sentences are a row of any of `others`, punctuation dropped."""
    return np.isin(rows.bare, np.concatenate([other.bare for other in others]) if others else [])


def clusters(rows: Index) -> np.ndarray:
    """Return cluster numbers, int64 [rows]: rows that share a sentence, directly or through others, have the same one.

    Case and spacing are folded. Rows of one cluster are not independent; those of different clusters share no sentence.
    """
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    matrix = rows.matrix()
    _, sentence = np.unique(matrix, return_inverse=True)
    row = np.repeat(np.arange(len(rows)), matrix.shape[1])
    size = len(rows) + sentence.max() + 1
    graph = coo_array((np.ones(matrix.size, dtype=bool), (row, len(rows) + sentence.ravel())), shape=(size, size))
    _, number = connected_components(graph, directed=False)
    return number[: len(rows)].astype(np.int64)


def halves(cluster: np.ndarray) -> np.ndarray:
    """Split whole clusters [rows] into two halves of about as many rows: a mask [rows], the same for the same clusters.

    The order is random, so that no pattern of the file matters; large clusters come first, each to the smaller half.
    """
    sizes = np.bincount(cluster)
    order = np.random.default_rng(0).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    first, lead = np.zeros(len(sizes), dtype=bool), 0  # surplus of rows in the first half
    for number in order:
        first[number] = lead <= 0
        lead += int(sizes[number]) if first[number] else -int(sizes[number])
    return first[cluster]


def conflicts(rows: Index) -> list[dict[str, Any]]:
    """Return lines and labels of rows with the same sentences (case and spacing folded) and different labels."""
    columns = {"key": rows.folded, "line": rows.lines, "label": rows.labels}
    labelled = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()}).dropna()
    again = labelled[labelled.duplicated("key", keep=False)]
    return [
        {"lines": group["line"].tolist(), "labels": group["label"].tolist()}
        for _, group in again.groupby("key", sort=False)
        if len(set(group["label"])) > 1
    ]
