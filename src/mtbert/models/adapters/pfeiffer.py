"""Bottleneck adapters after the feed-forward alone (Pfeiffer et al.).

What it does: at the end of each layer a bottleneck reads what BERT would pass to the next layer. Its output is added
before the layer's second LayerNorm. The attention has no bottleneck.

Formula: z = h_att + dropout(FFN(h_att)); the layer ends in LN(z + W_U ReLU(W_D LN(z) + b_D) + b_U), both times with the
encoder's LN.

Source: Pfeiffer et al. (2021), "AdapterFusion": its single adapter, without the fusion. Residuals and
LayerNorms are placed as in the authors' AdapterHub ("pfeiffer": the encoder's LayerNorm before and after, the adapter's
residual from before the first), as are ReLU, a sixteenth of the width for `size` (48 of 768), and fresh weights drawn
like the encoder's. Biases start as 0.

Symbols: h_att the feed-forward's input; m `size`; W_D `down` (m x d), W_U `up` (d x m).

Shapes: z and result [rows, tokens, width]. Weights of a set: L (2 d m + m + d) = 894,528 for d 768, m 48, L 12; one set
for all tasks, or one for each task (`per_task`).
"""

from pydantic import Field
from torch import Tensor, nn

from mtbert.models.adapters.base import InEveryLayer, InLayer, Shape
from mtbert.models.encoder.slot import Sublayer
from mtbert.settings import Section


class Settings(Section):
    """Section `pfeiffer`.

    Attributes:
        size: m, the width of the bottleneck.
        per_task: whether each task has a set of its own.
    """

    size: int = Field(default=48, ge=1, le=4096)
    per_task: bool = False


class AfterFeedForward(InLayer):
    """The bottleneck of a layer."""

    def __init__(self, settings: Settings, shape: Shape) -> None:
        super().__init__()
        self.down = nn.Linear(shape.width, settings.size)
        self.up = nn.Linear(settings.size, shape.width)
        for linear in (self.down, self.up):
            nn.init.normal_(linear.weight, std=shape.initializer_range)
            nn.init.zeros_(linear.bias)

    def sublayer(self, name: Sublayer, output: Tensor, residual: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Return what BERT would normalise; after the feed-forward, with the bottleneck's output added."""
        summed = output + residual
        return summed + self.up(self.down(norm(summed)).relu()) if name == "feed_forward" else summed


class PfeifferAdapters(InEveryLayer):
    """One `AfterFeedForward` for each layer."""

    in_layer = AfterFeedForward
