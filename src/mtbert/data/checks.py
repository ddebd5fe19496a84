"""Find duplicates in a corpus, and what two corpora share.

Sentences are compared in two forms: with case and spacing folded, and with punctuation dropped as well. A pair equals
another in either order. Of each form only Python's hash of 8 bytes is kept, so that large corpora can be compared, in
one process. Two different rows share it with a probability of 2^-64.
"""

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mtbert.data.readers import Example

NOT_WORDS = re.compile(r"[^\w\s]")
SENTENCES = ["sentence1", "sentence2"]
COLUMNS = {"line": "int64", "label": "float64"} | dict.fromkeys(["folded", "bare", *SENTENCES], "int64")


def folded(text: str) -> str:
    """Return the text with case and spacing folded: `"A  dog. "` is `"a dog."`."""
    return " ".join(text.casefold().split())


def bare(text: str) -> str:
    """Return the text folded, without punctuation and symbols: `"It 's  $5!"` is `"it s 5"`."""
    return folded(NOT_WORDS.sub("", text))


def digests(rows: Iterable[Example]) -> pd.DataFrame:
    """Return what is compared of rows: 48 bytes for each.

    Returns:
        Columns line and label (NaN where there is none), and hashes: `folded` and `bare` of a row's sentences in that
        form, in either order; `sentence1` and `sentence2` of each alone, folded, the same where there is one.
    """
    compared = []
    for row in rows:
        texts = [text for text in (row.sentence1, row.sentence2) if text is not None]
        plain, words = sorted(map(folded, texts)), sorted(map(bare, texts))
        each = hash(folded(texts[0])), hash(folded(texts[-1]))
        compared.append((row.line, row.label, hash(tuple(plain)), hash(tuple(words)), *each))
    return pd.DataFrame(compared, columns=list(COLUMNS)).astype(COLUMNS)


def duplicates(rows: pd.DataFrame) -> int:
    """Count the rows whose sentences an earlier row has, case and spacing folded."""
    return int(rows["folded"].duplicated().sum())


def clusters(rows: pd.DataFrame) -> np.ndarray:
    """Return cluster numbers, int64 [rows]: rows that share a sentence, directly or through others, have the same one.

    Case and spacing are folded. Rows of one cluster are not independent; those of different clusters share no sentence.
    """
    sentence, _ = pd.factorize(rows[SENTENCES].to_numpy().ravel())
    row = np.arange(len(rows)).repeat(len(SENTENCES))
    size = len(rows) + len(sentence)
    graph = coo_array((np.ones(len(row), dtype=bool), (row, len(rows) + sentence)), shape=(size, size))
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


def conflicts(rows: pd.DataFrame) -> int:
    """Count the rows of one text, case and spacing folded, whose rows have different labels: each text once."""
    different = rows.groupby("folded")["label"].nunique().to_numpy() > 1
    return int(different.sum())
