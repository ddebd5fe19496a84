"""Unsupervised SimCSE with a linear layer: like `simcse`, but with a learnt similarity.

Formula: term = weight * mean_i -log softmax_j( (W z_i) . (W z_j') / sqrt(d) )_i.

Source: "My PAL BERT", section 4.1: once pairs were one sequence, the authors replaced the cosine by linear layers and
cross entropy, and say no more. Here both embeddings go through one linear layer W, as both sentences of a pair share an
encoder; negatives stay; the product is divided by the root of the width d, as in attention, in place of a
temperature.

Symbols: as in `simcse`; W [d, d] is trained with the model and discarded after the phase.
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.learning.objectives.simcse import Negatives, SimCse
from mtbert.models.multitask import MultitaskModel
from mtbert.settings import Section, TaskName


class Settings(Section):
    """Section `simcse_linear`: the term's weight, `negatives` as for `simcse`, and the tasks whose batches get it."""

    weight: float = Field(default=1.0, ge=0)
    negatives: Negatives = Field(default=None, ge=2)
    tasks: list[TaskName] = ["sts"]


class SimCseLinear(SimCse):
    """Contrasts embeddings under two dropout masks after a linear layer."""

    def __init__(self, settings: Settings, model: MultitaskModel, generator: torch.Generator) -> None:
        super().__init__(settings, model, generator)
        width = model.encoder.width
        fresh = torch.randn(width, width, generator=generator, device=generator.device) * width**-0.5
        self.weight = nn.Parameter(fresh)
        self.own.append(self.weight)

    def similarities(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the products after the layer, [rows, rows]."""
        return (first @ self.weight.T) @ (second @ self.weight.T).T / first.shape[-1] ** 0.5
