"""Chance: random predictions, whatever the sentence; nothing is trained.

Formula: o ~ U(0, 1) for every logit; score = lowest + (highest - lowest) u with u ~ U(0, 1).

Source: SlapBERT, section 4.1 and table 1, RandBERT, "randomized" outputs. It does not say how they were drawn. Logits
between 0 and 1 fit its three numbers: one of five classes at random (0.198), "yes" to every pair of questions, as the
sigmoid of a number above 0 is above one half (0.375, which is the share of duplicates in dev; a fair coin would be
right half of the time), and a score without any relation to the label (r of -0.013).

Symbols: u, o drawn by PyTorch's generator for each example and prediction anew, so that the run's seed decides them.

Prefer `linear` with `training.trainable: [heads]` to measure what untrained features hold.
"""

import torch
from torch import Tensor

from mtbert.models.heads.base import Head


class ChanceHead(Head):
    """Draws its outputs."""

    learns = False

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return outputs [batch, size]."""
        if self.task.kind == "sets":
            return torch.randn(len(embeddings[0]), self.outputs, device=embeddings[0].device)
        drawn = torch.rand(len(embeddings[0]), self.outputs, device=embeddings[0].device)
        if self.task.kind == "score":
            return self.task.lowest + (self.task.highest - self.task.lowest) * drawn
        return drawn
