"""What an objective is."""

from typing import Any

import torch
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.model import MultitaskModel


class Objective:
    """A term that is added to a task's loss. Built from (settings, model, generator)."""

    def __init__(self, settings: Any, model: MultitaskModel, generator: torch.Generator) -> None:
        self.settings = settings
        self.model = model
        self.generator = generator

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """The weighted term, a scalar; `outputs` are the model's for this batch, with their graph."""
        raise NotImplementedError

    def after_step(self) -> None:
        """Called once the optimiser has moved."""

    def parameters(self) -> list[nn.Parameter]:
        """What it trains of its own, beside the model."""
        return []


def generator_like(seed: int, device: torch.device) -> torch.Generator:
    """A generator for noise on a device."""
    return torch.Generator(device=device).manual_seed(seed)


__all__ = ["Batch", "MultitaskModel", "Objective", "generator_like"]
