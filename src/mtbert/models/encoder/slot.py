"""The places where an adapter can change a layer of the encoder, which knows no adapter itself.

Legend: rows sequences of a batch; tokens the longest of them; width the hidden size.
"""

from typing import Literal

from torch import Tensor, nn

Linear = Literal["query", "key", "value", "attention_output", "intermediate", "output"]
Sublayer = Literal["attention", "feed_forward"]


class Slot:
    """What an adapter does in one layer, for one task. This base class changes nothing.

    A layer computes q, k, v = linear(query | key | value, h), a = linear(attention_output, attention(q, k, v)),
    h_att = LN(sublayer(attention, a, h)), f = linear(output, GELU(linear(intermediate, h_att))) and
    LN(sublayer(feed_forward, f, h_att) + parallel(h)). Dropout follows the linear maps attention_output and output.
    """

    def linear(self, name: Linear, dense: nn.Linear, inputs: Tensor) -> Tensor:
        """Return the output of one of the layer's linear maps: [rows, tokens, in] -> [rows, tokens, out] of `dense`."""
        return dense(inputs)

    def sublayer(self, name: Sublayer, output: Tensor, residual: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Return what `norm` normalises at the end of a sub-layer: its output plus its residual.

        Shapes: output, residual and result [rows, tokens, width].
        """
        return output + residual

    def parallel(self, hidden: Tensor, mask: Tensor) -> Tensor | None:
        """Return what to add before the layer's second LayerNorm, given the layer's input; None for nothing.

        Shapes: hidden [rows, tokens, width], mask [rows, 1, 1, tokens] (true where a token is), result like hidden.
        """
        return None


PLAIN = Slot()
