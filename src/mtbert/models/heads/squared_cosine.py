"""Squared cosine of the two sentence embeddings, without weights of its own.

Formula: c = cos(u, v)^2; the probability of "yes" for a yes-or-no task (trained with binary cross entropy), and
lowest + c (highest - lowest) for a score (trained with squared error).

Source: "Pals for PALs", section 4.3 (SBERT PALs). The paper names neither the losses nor the scale of the score: these
are the ones its other models use, and the label's own range, 0 to 5.
"""

import torch
from torch import Tensor

from mtbert.models.heads.base import PairHead, cosine

# A probability of exactly 0 or 1 has no logit; at this distance the loss of a wrong one is 13.8.
EDGE = 1e-6


class SquaredCosineHead(PairHead):
    """cos(u, v)^2 as probability or score."""

    kinds = ("binary", "score")

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return the logit of c, or the score: [batch, 1]."""
        squared = cosine(*embeddings).square()
        return torch.logit(squared, eps=EDGE).unsqueeze(-1) if self.task.kind == "binary" else self.scaled(squared)
