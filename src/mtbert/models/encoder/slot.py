"""The points at which an adapter can change a layer of the encoder, which knows no adapter itself.

Legend: rows sequences of a batch; tokens the longest of them; width the hidden size.
"""

from typing import Literal

from torch import Tensor, nn

from mtbert.machine.streams import begin_beside, finish_beside

LinearName = Literal["query", "key", "value", "attention_output", "intermediate", "output"]
Sublayer = Literal["attention", "feed_forward"]


class Slot:
    """What an adapter does in one layer, for one task. This base class changes nothing.

    A layer computes q, k, v = linear(query | key | value, h), a = linear(attention_output, attention(q, k, v)),
    h_att = LN(sublayer(attention, a, h)), f = linear(output, GELU(linear(intermediate, h_att))) and
    LN(sublayer(feed_forward, f, h_att) + parallel(h)). Dropout follows the linear maps attention_output and output.

    Where LayerNorm comes first (ModernBERT), a layer computes q, k, v = linear(query | key | value, x) with x = LN(h),
    h_att = sublayer(attention, a, h), (u, g) = linear(intermediate, LN(h_att)), f = linear(output, GELU(u) * g) and
    sublayer(feed_forward, f, h_att) + parallel(x), which no LayerNorm changes before the next layer adds to it. So
    `linear` and `parallel` see normalised values in both, and what `sublayer` and `parallel` return is added to the
    residual. A residual is normalised in BERT alone. Dropout lies before the linear map output there.

    Attributes:
        runs_in_parallel: whether a GPU may compute `parallel` while it computes the layer's attention and feed-forward.
            True only if `parallel` uses its inputs and weights that no other method uses, in no layer (autocast keeps
            one cast of each), and never returns None.
    """

    runs_in_parallel = False

    def linear(self, name: LinearName, dense: nn.Linear, inputs: Tensor) -> Tensor:
        """Return the output of one of the layer's linear maps: [rows, tokens, in] -> [rows, tokens, out] of `dense`."""
        return dense(inputs)

    def sublayer(self, name: Sublayer, output: Tensor, residual: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Return what `norm` normalises next: a sub-layer's output plus its residual.

        That is the sub-layer's own LayerNorm, or where LayerNorm comes first, the one before what follows: the
        feed-forward, the next layer's attention, or the model's end.

        Shapes: output, residual and result [rows, tokens, width].
        """
        return output + residual

    def parallel(self, hidden: Tensor, mask: Tensor) -> Tensor | None:
        """Return what to add beside the feed-forward's output, given what the attention reads; None for nothing.

        Shapes: hidden [rows, tokens, width], mask [rows, 1, 1, tokens] (true where a token is), result like hidden.
        """
        return None


def begin_parallel(slot: Slot, hidden: Tensor, mask: Tensor) -> Tensor | None:
    """Compute the slot's `parallel`, on a GPU beside what follows; nobody may read it before `finish_parallel`."""
    return begin_beside(slot.parallel, hidden, mask) if slot.runs_in_parallel else slot.parallel(hidden, mask)


def finish_parallel(slot: Slot, parallel: Tensor | None) -> Tensor | None:
    """Return what `begin_parallel` has begun, for what follows to read."""
    return finish_beside(parallel) if slot.runs_in_parallel and parallel is not None else parallel


PLAIN = Slot()
