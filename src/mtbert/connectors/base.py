"""What a connector is."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from mtbert.errors import SettingsError


class Connector(nn.Module):
    """A part between encoder and heads that tasks share: embeddings in, as many embeddings out.

    Subclasses take (settings, width, tasks) and give `joined`.

    Args:
        width: width of an embedding.
        tasks: all tasks of the variant.
        served: those whose embeddings go through it; the other tasks' stay as they are. SettingsError where it serves
            none of the variant's.
    """

    def __init__(self, settings: Any, width: int, tasks: Sequence[str], served: Sequence[str]) -> None:
        super().__init__()
        self.settings = settings
        self.width = width
        self.served = frozenset(served) & frozenset(tasks)
        if served and not self.served:
            raise SettingsError(
                f"the connector serves {', '.join(served)}, but the variant trains {', '.join(tasks)}: nothing would "
                f"go through it"
            )

    def forward(self, task: str, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Embeddings [batch, width] of a task's examples, one or two each, to as many."""
        return self.joined(embeddings) if task in self.served else embeddings

    def mixes(self, task: str) -> bool:
        """Whether the two sentences of an example of a task see one another in it."""
        return False

    def joined(self, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """What it makes of the embeddings of a task that it serves."""
        raise NotImplementedError
