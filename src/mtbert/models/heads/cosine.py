"""Cosine fine-tuning: move the cosine of the two sentence embeddings towards the label.

Formula: loss = mean (cos(u, v) - y)^2 with y = (label - lowest) / (highest - lowest); the score is the label
whose y is the cosine.

Source: SlapBERT, section 4.11; the paper gives no formula. This is the objective of Reimers and Gurevych (2019),
section 3, "regression objective function".
"""

import torch.nn.functional as F
from torch import Tensor

from mtbert.models.heads.base import PairHead, cosine


class CosineHead(PairHead):
    """cos(u, v) on the labels' range."""

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return scores [batch, 1]; below the labels' range where a cosine is negative."""
        return self.scaled(cosine(*embeddings))

    def squared_error(self, scores: Tensor, others: Tensor) -> Tensor:
        """Return the mean squared difference on the cosine's own scale."""
        return F.mse_loss(scores, others) / self.extent**2
