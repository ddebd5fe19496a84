"""No adapter: the encoder's layers as they are.

Formula: nothing is added.

Source: Devlin et al. (2019), plain BERT.
"""

from collections.abc import Sequence

from torch import Tensor

from mtbert.adapters.base import Adapter, Shape
from mtbert.settings import NoOptions


class NoAdapter(Adapter):
    """Adds nothing and has no parameters."""

    def __init__(self, settings: NoOptions, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__(shape, tasks)

    def forward(self, task: str, layer: int, hidden: Tensor, mask: Tensor) -> Tensor | None:
        """Nothing to add."""
        return None
