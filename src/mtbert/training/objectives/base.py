"""What an objective is."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.models.multitask import MultitaskModel


class Objective:
    """A term that is added to a task's loss. Built from (settings, model, generator). Subclasses define `term`.

    Attributes:
        by_example: whether the term is a mean over the batch's examples, each of them computed by itself.
    """

    by_example = True

    def __init__(self, settings: Any, model: MultitaskModel, generator: torch.Generator) -> None:
        self.settings = settings
        self.model = model
        self.generator = generator

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return the weighted term, a scalar; `outputs` are the model's for this batch, with their graph."""
        raise NotImplementedError

    def after_step(self, done: float) -> None:
        """Called after every update; `done` is the share of the phase's updates made so far, above 0 to 1."""

    def parameters(self) -> list[nn.Parameter]:
        """Return its own parameters, which are trained beside the model's."""
        return []

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, for a checkpoint: tensors and plain values."""
        return {"generator": self.generator.get_state(), "parameters": self.parameters()}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.generator.set_state(state["generator"])
        for parameter, value in zip(self.parameters(), state["parameters"], strict=True):
            parameter.copy_(value)
