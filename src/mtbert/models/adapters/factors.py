"""Low-rank factors beside a linear map, and their settings, for all adapters that use them."""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.models.adapters.base import InLayer, Shape
from mtbert.models.encoder.dropout import Dropout
from mtbert.models.encoder.slot import LinearName
from mtbert.settings import ONCE, Section


class FactorSettings(Section):
    """The settings that all adapters with low-rank factors have.

    Attributes:
        rank: r, the width between the factors.
        alpha: the change is scaled by alpha / rank, so that another rank needs no other learning rate.
        dropout: on what goes into the factors, not into the encoder's own map.
        targets: the linear maps of each layer that are changed.
    """

    rank: int = Field(default=8, ge=1, le=4096)
    alpha: float = Field(default=8.0, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    targets: Annotated[list[LinearName], Field(min_length=1), ONCE] = ["query", "value"]


class Factors(nn.Module):
    """s B A beside a linear map; B starts at zero, so the product does, too."""

    def __init__(self, settings: FactorSettings, inputs: int, outputs: int) -> None:
        super().__init__()
        self.scale = settings.alpha / settings.rank  # s
        self.dropout = Dropout(settings.dropout)
        self.down = nn.Linear(inputs, settings.rank, bias=False)  # A, drawn as nn.Linear draws
        self.up = nn.Linear(settings.rank, outputs, bias=False)  # B
        nn.init.zeros_(self.up.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        """s B A x: [rows, tokens, in] -> [rows, tokens, out]."""
        return self.up(self.down(self.dropout(inputs)) * self.scale)

    def product(self) -> Tensor:
        """s B A in full precision, [out, in]."""
        with torch.autocast(self.up.weight.device.type, enabled=False):
            return self.scale * (self.up.weight @ self.down.weight)


class Factored(InLayer):
    """A layer whose targets have factors."""

    def __init__(self, settings: FactorSettings, shape: Shape) -> None:
        super().__init__()
        self.factors = nn.ModuleDict({name: Factors(settings, *shape.linear(name)) for name in settings.targets})
