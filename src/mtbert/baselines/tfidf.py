"""TF-IDF: the words and letters of a text, counted.

What it does: weighs each word, pair of words, and sequence of two to five letters within a word by how often the text
has it, and by how few training texts do.

Formula: a term that a text has n times weighs (1 + log n) (1 + log((1 + N) / (1 + N_term))), of N training texts, of
which N_term have it. Words and letters are a vector of length 1 each. The features of a pair u, v are |u - v|, u v, the
share of words in common, and the cosine of words and that of letters.

Source: scikit-learn's TfidfVectorizer; Salton and Buckley (1988).

Shapes: [rows, words + letters], of pairs [rows, 2 (words + letters) + 3], sparse.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from mtbert.baselines.base import Columns, Embed, Features, Matrix

MOST_TERMS = {"words": 30_000, "letters": 60_000}  # the most frequent ones of train
OPTIONS: dict[str, dict[str, Any]] = {  # of scikit-learn
    "words": {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"},
    "letters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
BLOCKS = tuple(OPTIONS)


class Counts(Features):
    """Vocabularies with the weight of each term.

    Attributes:
        vectorizers: by BLOCKS; None where no training text has a term, as words where all are emoji.
    """

    def __init__(self, vectorizers: dict[str, TfidfVectorizer | None]) -> None:
        self.vectorizers = vectorizers

    @classmethod
    def fit(cls, columns: Columns, embed: Embed) -> Self:
        """Count the terms of all training texts; the second ones of pairs count as well."""
        texts = [text for column in columns for text in column]
        return cls({block: _fitted(block, texts) for block in BLOCKS})

    @classmethod
    def load(cls, content: dict[str, Any], arrays: dict[str, np.ndarray], embed: Embed) -> Self:
        """Return the vocabularies that were written."""
        vectorizers: dict[str, TfidfVectorizer | None] = {}
        for block in BLOCKS:
            terms = content[block]
            vectorizers[block] = _vectorizer(block, vocabulary=terms) if terms else None
            if vectorizer := vectorizers[block]:
                vectorizer.idf_ = arrays[block]
        return cls(vectorizers)

    def matrix(self, columns: Columns) -> Matrix:
        """Return the features of texts, or of pairs."""
        blocks = [[self._block(block, texts) for texts in columns] for block in BLOCKS]
        if len(columns) == 1:
            return sparse.hstack([first for (first,) in blocks], format="csr", dtype=np.float32)
        words = blocks[0]
        shared = [_overlap(*words), *(_dots(first, second) for first, second in blocks)]
        parts = [part for first, second in blocks for part in (abs(first - second), first.multiply(second))]
        return sparse.hstack([*parts, np.stack(shared, axis=1)], format="csr", dtype=np.float32)

    def _block(self, block: str, texts: Sequence[str]) -> Matrix:
        vectorizer = self.vectorizers[block]
        if vectorizer is None:
            return sparse.csr_array((len(texts), 0), dtype=np.float32)
        return sparse.csr_array(vectorizer.transform(texts))

    def content(self) -> dict[str, Any]:
        """Return the terms of each block, in the order of the columns."""
        terms: dict[str, list[str]] = {}
        for block, vectorizer in self.vectorizers.items():
            terms[block] = vectorizer.get_feature_names_out().tolist() if vectorizer else []
        return terms

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the inverse document frequency of each term, by block."""
        return {block: vectorizer.idf_ for block, vectorizer in self.vectorizers.items() if vectorizer}


def _vectorizer(block: str, **options: Any) -> TfidfVectorizer:
    return TfidfVectorizer(**{"sublinear_tf": True, "dtype": np.float32} | OPTIONS[block] | options)


def _fitted(block: str, texts: Sequence[str]) -> TfidfVectorizer | None:
    vectorizer = _vectorizer(block, max_features=MOST_TERMS[block])
    analyze = vectorizer.build_analyzer()
    return vectorizer.fit(texts) if any(analyze(text) for text in texts) else None


def _dots(first: Matrix, second: Matrix) -> np.ndarray:
    """Return the dot product of each row of two sparse matrices: [rows]."""
    return np.asarray(first.multiply(second).sum(axis=1)).ravel()


def _overlap(first: Matrix, second: Matrix) -> np.ndarray:
    """Return how many terms both texts of a pair have, as a share of those that either has; 0 without any: [rows]."""
    has_first, has_second = (first > 0).astype(np.float32), (second > 0).astype(np.float32)
    both = _dots(has_first, has_second)
    either = np.asarray(has_first.sum(axis=1) + has_second.sum(axis=1)).ravel() - both
    return both / np.maximum(either, 1)
