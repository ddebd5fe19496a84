"""Two feed-forward layers with GELU between them.

Formula: o = W_2 GELU(W_1 dropout([e_1, e_2]) + b_1) + b_2, with e_2 only where a pair is bi-encoded.

Source: "Pals for PALs", section 4.1 (width d_i = 256). The paper names no dropout; it is the course's default, 0.3.

Symbols: d_i `width`; W_1 `hidden`; W_2 `output`.
"""

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from mtbert.models.encoder.dropout import Dropout
from mtbert.models.heads.base import Head, OutputBias
from mtbert.settings import Section
from mtbert.tasks import Task


class Settings(Section):
    """Section `mlp`.

    Attributes:
        width: of the hidden layer.
        dropout: before it.
        output_bias: where scores start: `plain`, as a linear layer's; in the `middle` of the range; or `scaled`, there
            too, with a loss in quarters of the range.
    """

    width: int = Field(default=256, ge=1, le=4096)
    dropout: float = Field(default=0.3, ge=0, lt=1)
    output_bias: OutputBias = "plain"


class MlpHead(Head):
    """Dropout, linear, GELU, linear."""

    def __init__(self, settings: Settings, task: Task, width: int, embeddings: int) -> None:
        super().__init__(settings, task, width, embeddings)
        self.dropout = Dropout(settings.dropout)
        self.hidden = nn.Linear(self.inputs, settings.width)
        self.output = self.output_layer(settings.width, settings.output_bias)

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return outputs [batch, size]."""
        return self.output(F.gelu(self.hidden(self.dropout(torch.cat(embeddings, dim=-1)))))
