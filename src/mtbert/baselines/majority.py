"""Majority class: no feature of the text.

What it does: predicts the most frequent class of train, of equal ones the first; for scores the mean of train, of
several labels a row the set of the most frequent label alone.

Formula: P(class) is the class's share of train; the score is the mean of train's labels.

Shapes: [rows, 0]. A regression without features has its intercepts alone.
"""

from typing import Any, Self

import numpy as np

from mtbert.baselines.base import Arrays, Columns, Embed, Matrix


class Nothing:
    """No features."""

    @classmethod
    def fit(cls, columns: Columns, embed: Embed) -> Self:
        """Learn nothing."""
        return cls()

    @classmethod
    def load(cls, content: dict[str, Any], arrays: Arrays, embed: Embed) -> Self:
        """Return no features."""
        return cls()

    def matrix(self, columns: Columns) -> Matrix:
        """Return [rows, 0]."""
        return np.zeros((len(columns[0]), 0), np.float32)

    def content(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def arrays(self) -> Arrays:
        """Return nothing."""
        return {}
