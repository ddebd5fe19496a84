"""What a baseline makes of texts: numbers, by what it learned of the training texts. The base class makes none."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

Columns = Sequence[Sequence[str]]  # of a task's one or two sentences, [texts][rows]
Embed = Callable[[Sequence[str]], np.ndarray]  # the frozen encoder's embedding of each text, [texts, width]
Matrix = Any  # [rows, features], dense or sparse by rows


class Features:
    """The features of a task, as a baseline computes them."""

    @classmethod
    def fit(cls, columns: Columns, embed: Embed) -> Self:
        """Learn from training texts what the features are."""
        return cls()

    @classmethod
    def load(cls, content: dict[str, Any], arrays: dict[str, np.ndarray], embed: Embed) -> Self:
        """Return the features that `content` and `arrays` describe."""
        return cls()

    def matrix(self, columns: Columns) -> Matrix:
        """Return the features of rows, [rows, features]."""
        return np.zeros((len(columns[0]), 0), np.float32)

    def content(self) -> dict[str, Any]:
        """Return what is kept as JSON."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what is kept as tensors, by name."""
        return {}
