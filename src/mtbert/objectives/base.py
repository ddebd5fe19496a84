"""What an objective is."""

from typing import Protocol

import torch
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.model import MultitaskModel


class Objective(Protocol):
    """A term that is added to a task's loss. Built from (settings, model, generator)."""

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """The weighted term, a scalar; `outputs` are the model's for this batch, with their graph."""
        ...

    def after_step(self) -> None:
        """Called once the optimiser has moved."""
        ...


def generator_like(seed: int, device: torch.device) -> torch.Generator:
    """A generator for noise on a device."""
    return torch.Generator(device=device).manual_seed(seed)


__all__ = ["Batch", "MultitaskModel", "Objective", "generator_like"]
