"""Bottleneck adapters (Houlsby et al.).

What it does: passes the output of each sub-layer, attention and feed-forward, through a bottleneck before the
sub-layer's residual is added. The bottleneck has a residual of its own. Its weights start near zero, so that the
encoder starts almost as it was.

Formula: A(x) = x + W_U GELU(W_D x + b_D) + b_U; a layer's sub-layers end in LN(h + A(dropout(f(h)))).

Source: Houlsby et al. (2019), "Parameter-Efficient Transfer Learning for NLP", section 2.1 and figure 2. GELU is the
authors' code's. Fresh weights are normal with standard deviation 0.01, cut at two of these, as in section 3.6 (0.001 in
the code); biases start as 0. The paper also trains LayerNorms for each task. Here they stay the encoder's, shared;
`output_norms` in training.trainable trains the second of each layer.

Symbols: h the residual of the sub-layer f; x its output after dropout; m `size`; W_D `down` (m x d), W_U `up` (d x m).

Shapes: x and A(x) [rows, tokens, width]. Weights of a set: 2 L (2 d m + m + d) = 2,379,264 for d 768, m 64, L 12; one
set for all tasks, or one for each task (`per_task`).
"""

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from mtbert.models.adapters.base import InEveryLayer, InLayer, Shape
from mtbert.models.encoder.slot import Sublayer
from mtbert.settings import Section

SPREAD = 0.01  # standard deviation of fresh weights


class Settings(Section):
    """Section `houlsby`.

    Attributes:
        size: m, the width of the bottleneck.
        per_task: whether each task has a set of its own.
    """

    size: int = Field(default=64, ge=1, le=4096)
    per_task: bool = False


class Bottleneck(nn.Module):
    """A(x)."""

    def __init__(self, settings: Settings, width: int) -> None:
        super().__init__()
        self.down = nn.Linear(width, settings.size)
        self.up = nn.Linear(settings.size, width)
        for linear in (self.down, self.up):
            nn.init.trunc_normal_(linear.weight, std=SPREAD, a=-2 * SPREAD, b=2 * SPREAD)
            nn.init.zeros_(linear.bias)

    def forward(self, output: Tensor) -> Tensor:
        """Output and result [rows, tokens, width]."""
        return output + self.up(F.gelu(self.down(output)))


class AfterBoth(InLayer):
    """The two bottlenecks of a layer."""

    def __init__(self, settings: Settings, shape: Shape) -> None:
        super().__init__()
        self.attention = Bottleneck(settings, shape.width)
        self.feed_forward = Bottleneck(settings, shape.width)

    def sublayer(self, name: Sublayer, output: Tensor, residual: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Return A(output) plus the residual."""
        return getattr(self, name)(output) + residual


class HoulsbyAdapters(InEveryLayer):
    """One `AfterBoth` for each layer."""

    in_layer = AfterBoth
