"""Linear head: dropout, then one linear layer.

Formula: o = W dropout([e_1, e_2]) + b, with e_2 only where a pair is bi-encoded.

Source: Devlin et al. (2019), section 4.1; the CS224N handout.
"""

import torch
from pydantic import Field
from torch import Tensor

from mtbert.models.encoder.dropout import Dropout
from mtbert.models.heads.base import Head, OutputBias
from mtbert.settings import Section
from mtbert.tasks import Task


class Settings(Section):
    """Section `linear`.

    Attributes:
        dropout: before the layer.
        output_bias: where scores start: `plain`, as a linear layer's; in the `middle` of the range; or `scaled`, there
            too, with a loss in quarters of the range.
    """

    dropout: float = Field(default=0.3, ge=0, lt=1)
    output_bias: OutputBias = "plain"


class LinearHead(Head):
    """Dropout and one linear layer."""

    def __init__(self, settings: Settings, task: Task, width: int, embeddings: int) -> None:
        super().__init__(settings, task, width, embeddings)
        self.dropout = Dropout(settings.dropout)
        self.linear = self.output_layer(self.inputs, settings.output_bias)

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return outputs [batch, size]."""
        return self.linear(self.dropout(torch.cat(embeddings, dim=-1)))
