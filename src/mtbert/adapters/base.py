"""What an adapter is."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """What an adapter knows of the encoder that it stands beside: its width, layers and the spread of fresh weights."""

    width: int
    layers: int
    initializer_range: float = 0.02


class Adapter(nn.Module):
    """A path from a layer's input to just before its second LayerNorm; its parameters are all its own.

    Subclasses take (settings, shape, tasks).
    """

    def __init__(self, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__()
        self.shape = shape
        self.tasks = tuple(tasks)

    def forward(self, task: str, layer: int, hidden: Tensor, mask: Tensor) -> Tensor | None:
        """What to add beside layer `layer` (0, 1, ...) for `task`; None for nothing.

        Shapes: hidden [rows, tokens, width], mask [rows, 1, 1, tokens] (true where a token is), result like hidden.
        """
        raise NotImplementedError
