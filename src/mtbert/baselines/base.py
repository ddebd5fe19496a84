"""What a baseline makes of texts: numbers, by what it learned of the training texts."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np

Texts = Sequence[str]
Columns = Sequence[Texts]  # of a task's one or two sentences, [texts][rows]
Embed = Callable[[Texts], np.ndarray]  # the frozen encoder's embedding of each text, [texts, width]
Matrix = Any  # [rows, features], dense or sparse by rows
Arrays = dict[str, np.ndarray]  # by name


class Features(Protocol):
    """The features of a task, as a baseline computes them."""

    @classmethod
    def fit(cls, columns: Columns, embed: Embed) -> Self:
        """Learn from training texts what the features are."""
        ...

    @classmethod
    def load(cls, content: dict[str, Any], arrays: Arrays, embed: Embed) -> Self:
        """Return the features that `content` and `arrays` describe."""
        ...

    def matrix(self, columns: Columns) -> Matrix:
        """Return the features of rows."""
        ...

    def content(self) -> dict[str, Any]:
        """Return what is kept as JSON."""
        ...

    def arrays(self) -> Arrays:
        """Return what is kept as tensors."""
        ...
