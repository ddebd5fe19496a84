"""Frozen encoder: the mean of its tokens' last vectors, without any training of it.

What it does: embeds each text with the starting weights, and trains the regression alone on it.

Formula: x = h / |h|, h the mean over the text's tokens. The features of a pair u, v are |u - v|, u v, and the cosine.
Each feature is then shifted to mean 0 over train and divided by its standard deviation and by the root of the number of
features, so that rows have length 1 on average, whatever the encoder.

Source: the features of pairs, Conneau et al. (2017), "Supervised Learning of Universal Sentence Representations from
Natural Language Inference Data", section 3.1; Tai et al. (2015) for |u - v| and u v.

Shapes: [rows, width], of pairs [rows, 2 width + 1].
"""

from typing import Any, Self

import numpy as np

from mtbert.baselines.base import Columns, Embed, Features, Matrix

SMALLEST = 1e-12  # of a length or a deviation: a smaller one is 0


class Embedded(Features):
    """Embeddings, with the mean and the scale of each feature.

    Attributes:
        mean, scale: [features]; 1 where a feature is the same in all of train.
        embed: the encoder.
    """

    def __init__(self, mean: np.ndarray, scale: np.ndarray, embed: Embed) -> None:
        self.mean, self.scale, self.embed = mean, scale, embed

    @classmethod
    def fit(cls, columns: Columns, embed: Embed) -> Self:
        """Learn mean and scale of each feature from the training texts."""
        plain = _plain(columns, embed)
        deviation = plain.std(axis=0, dtype=np.float64)
        scale = np.where(deviation > SMALLEST, deviation * np.sqrt(plain.shape[1]), 1)
        return cls(plain.mean(axis=0, dtype=np.float64).astype(np.float32), scale.astype(np.float32), embed)

    @classmethod
    def load(cls, content: dict[str, Any], arrays: dict[str, np.ndarray], embed: Embed) -> Self:
        """Return the features that were written."""
        return cls(arrays["mean"], arrays["scale"], embed)

    def matrix(self, columns: Columns) -> Matrix:
        """Return the features of texts, or of pairs."""
        return (_plain(columns, self.embed) - self.mean) / self.scale

    def arrays(self) -> dict[str, np.ndarray]:
        """Return mean and scale."""
        return {"mean": self.mean, "scale": self.scale}


def _plain(columns: Columns, embed: Embed) -> np.ndarray:
    """Return the features before they are shifted and scaled."""
    units = [unit(embed(texts)) for texts in columns]
    if len(units) == 1:
        return units[0]
    first, second = units
    return np.hstack([abs(first - second), first * second, (first * second).sum(axis=1, keepdims=True)])


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors [..., width] at length 1; a vector of zeros stays."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SMALLEST)
