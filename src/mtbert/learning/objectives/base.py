"""What an objective is."""

from typing import Any

import torch
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.learning.states import Stateful
from mtbert.models.multitask import MultitaskModel


class Objective(Stateful):
    """A term that is added to a task's loss. Built from (settings, model, generator). Subclasses define `term`.

    Attributes:
        own: its own parameters, which are trained beside the model's.
        learns_from_teachers: whether it reads the `soft_labels` of a batch, which the variant's `teachers` predict.
    """

    changes = ("generator", "own")
    learns_from_teachers = False

    def __init__(self, settings: Any, model: MultitaskModel, generator: torch.Generator) -> None:
        self.settings = settings
        self.model = model
        self.generator = generator
        self.own = nn.ParameterList()

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return the weighted term, a scalar; `outputs` are the model's for this batch, with their graph."""
        raise NotImplementedError

    def after_step(self, done: float) -> None:
        """Called after every update; `done` is the share of the phase's updates made so far, above 0 to 1."""
