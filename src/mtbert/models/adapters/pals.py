"""Projected attention layers (PALs).

What it does: gives a task a narrow attention layer of its own beside each BERT layer. The wide projections into and out
of the narrow space belong to the task and are shared by all its layers, so that a task costs few weights.

Formula: PA(h) = GELU(V_D MHA(V_E h)); the layer becomes LN(h_att + FFN(h_att) + PA(h)).

Source: Stickland and Murray (2019), "BERT and PALs", section 3.3, without output projection in the attention; the
authors' code and "minBERT and PALs" apply GELU after V_D, which the paper's formula lacks. Biases are the code's.

Symbols: h `hidden`, the layer's input; d_s `dim`; V_E `down` (d_s x d), V_D `up` (d x d_s); n `heads`.

Shapes: down and up for each task; query, key and value (d_s x d_s each, kept side by side as d_s x 3 d_s) for each
task and layer. Weights of a task, biases apart: 2 d d_s + L 3 d_s^2 = 1,811,520 for d 768, d_s 204, L 12.
"""

from collections.abc import Sequence
from typing import Literal

import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from mtbert.errors import SettingsError
from mtbert.models.adapters.base import Adapter, Shape
from mtbert.models.by_task import ModulesByTask
from mtbert.models.encoder.attention import attention
from mtbert.models.encoder.slot import PLAIN, Slot
from mtbert.settings import Section, undivided

Layers = Literal["all", "top_half"] | list[int]


class Settings(Section):
    """Section `pals`.

    Attributes:
        dim: d_s, the width of the narrow attention.
        heads: its attention heads.
        layers: `all`, `top_half`, or the numbers of the layers that have a PAL, counted from 0 at the embeddings.
        activation: `gelu` after V_D as in the authors' code, or `none` as in the paper's formula.
        dropout: on the attention's weights, as in the authors' code; the papers do not state theirs.
    """

    dim: int = Field(default=204, ge=1, le=4096)
    heads: int = Field(default=12, ge=1, le=256)
    layers: Layers = "all"
    activation: Literal["gelu", "none"] = "gelu"
    dropout: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> "Settings":
        if self.dim % self.heads:
            raise ValueError(undivided("dim", self.dim, self.heads))
        return self


class TaskPath(nn.Module):
    """The PALs of one task."""

    def __init__(self, settings: Settings, shape: Shape, layers: Sequence[int]) -> None:
        super().__init__()
        dim = settings.dim
        self.settings = settings
        self.down = nn.Linear(shape.width, dim)
        self.up = nn.Linear(dim, shape.width)
        self.query_key_value = nn.ModuleDict({str(layer): nn.Linear(dim, 3 * dim) for layer in layers})
        for linear in (self.down, self.up, *self.query_key_value.values()):
            nn.init.normal_(linear.weight, std=shape.initializer_range)  # type: ignore[arg-type]
            nn.init.zeros_(linear.bias)  # type: ignore[arg-type]

    def forward(self, layer: int, hidden: Tensor, mask: Tensor) -> Tensor:
        """PA(h) of one layer; hidden and result [rows, tokens, width]."""
        narrow = self.down(hidden)  # [rows, tokens, dim]
        projected = self.query_key_value[str(layer)](narrow)  # [rows, tokens, 3 dim]
        query, key, value = (
            part.unflatten(-1, (self.settings.heads, -1)).transpose(1, 2)  # [rows, heads, tokens, dim / heads]
            for part in projected.chunk(3, dim=-1)
        )
        attended = attention(query, key, value, mask, self.training, self.settings.dropout)
        widened = self.up(attended.transpose(1, 2).flatten(2))  # [rows, tokens, width]
        return F.gelu(widened) if self.settings.activation == "gelu" else widened


class ProjectedAttentionLayers(Adapter):
    """One `TaskPath` for each task."""

    def __init__(self, settings: Settings, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__(settings, shape, tasks)
        self.layers = layers_with_pal(settings.layers, shape.layers)
        self.paths = ModulesByTask({task: TaskPath(settings, shape, self.layers) for task in tasks})

    @classmethod
    def check(cls, settings: Settings, layers: int) -> None:
        """Raise SettingsError for a layer that the encoder lacks."""
        layers_with_pal(settings.layers, layers)

    def slot(self, task: str, layer: int) -> Slot:
        """PA(h) beside the layer, where it has a PAL."""
        return AtLayer(self.paths[task], layer) if layer in self.layers else PLAIN  # type: ignore[arg-type]


class AtLayer(Slot):
    """A task's path at one layer."""

    runs_in_parallel = True

    def __init__(self, path: TaskPath, layer: int) -> None:
        self.path, self.layer = path, layer

    def parallel(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """PA(h)."""
        return self.path(self.layer, hidden, mask)


def layers_with_pal(choice: Layers, count: int) -> tuple[int, ...]:
    """Return the layers that have a PAL, of so many; SettingsError for one that there is not."""
    if choice == "all":
        return tuple(range(count))
    if choice == "top_half":
        return tuple(range(count - count // 2, count))
    layers = tuple(sorted(set(choice)))
    if not layers or layers[0] < 0 or layers[-1] >= count:
        raise SettingsError(f"pals.layers is {choice}; allowed: layers 0 to {count - 1} of the encoder")
    return layers
