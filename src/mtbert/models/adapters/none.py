"""No adapter: the encoder's layers as they are.

Formula: none; nothing is changed.

Source: Devlin et al. (2019), plain BERT.
"""

from collections.abc import Sequence

from mtbert.models.adapters.base import Adapter, Shape
from mtbert.models.encoder.slot import PLAIN, Slot
from mtbert.settings import NoOptions


class NoAdapter(Adapter):
    """Changes nothing and has no parameters."""

    def __init__(self, settings: NoOptions, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__(tasks)

    def slot(self, task: str, layer: int) -> Slot:
        """The layer as it is."""
        return PLAIN
