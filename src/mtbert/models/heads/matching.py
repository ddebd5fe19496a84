"""What two sentences are to each other, from their embeddings alone, starting at their cosine.

Formula: o = a cos(u, v) + W dropout([u, v, |u - v|, u v]) + b, with W 0 at the start. Of a single output a starts at 4
and b at -2: a cosine of 1/2 is the middle of a score's range, or a probability of 1/2, and a score counts in quarters
of the range. Of several outputs both start at 0.

Source: the features are those of Conneau et al. (2017), "Supervised Learning of Universal Sentence Representations",
section 3.1. The cosine is that of Reimers and Gurevych (2019), section 3, "regression objective function".

Symbols: u, v the embeddings of a pair's sentences, [batch, width]; u v their product by elements; a `cosine`; W, b
`linear`.

What it is for: an encoder of sentences knows how alike two sentences are before it is trained, so a few hundred pairs
are enough. A linear head on both sentences in one sequence has to learn it from them.
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.models.encoder.dropout import Dropout
from mtbert.models.heads.base import PairHead, cosine
from mtbert.settings import Section
from mtbert.tasks import Task


class Settings(Section):
    """Section `matching`.

    Attributes:
        dropout: of the features beside the cosine.
    """

    dropout: float = Field(default=0.1, ge=0, lt=1)


class MatchingHead(PairHead):
    """A linear layer on the features of a pair."""

    kinds = ("score", "binary", "classes", "sets")

    def __init__(self, settings: Settings, task: Task, width: int, embeddings: int) -> None:
        super().__init__(settings, task, width, embeddings)
        self.dropout = Dropout(settings.dropout)
        self.linear = self.output_layer(4 * width, "scaled")
        is_single = self.outputs == 1
        self.cosine = nn.Parameter(torch.full((self.outputs,), 4.0 if is_single else 0.0))
        nn.init.zeros_(self.linear.weight)
        nn.init.constant_(self.linear.bias, -2.0 if is_single else 0.0)

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return outputs [batch, size]."""
        first, second = embeddings
        features = torch.cat([first, second, (first - second).abs(), first * second], dim=-1)
        return self.cosine * cosine(first, second).unsqueeze(-1) + self.linear(self.dropout(features))
