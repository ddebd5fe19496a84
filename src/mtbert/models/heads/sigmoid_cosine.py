"""Sigmoid of the cosine of the two sentence embeddings, without weights of its own.

Formula: lowest + (highest - lowest) sigmoid(cos(u, v)), trained with squared error.

Source: "MinBERT and PALs", section 4.1, equation 5. The paper leaves open whether it squares the error; the
other papers do.

Mind that the sigmoid of a cosine lies between 0.27 and 0.73: for labels from 0 to 5 scores stay within 1.3 to 3.7,
which does not matter to Pearson's correlation, but to the squared error.
"""

from torch import Tensor

from mtbert.models.heads.base import PairHead, cosine


class SigmoidCosineHead(PairHead):
    """sigmoid(cos(u, v)) on the labels' range."""

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return scores [batch, 1]."""
        return self.scaled(cosine(*embeddings).sigmoid())
