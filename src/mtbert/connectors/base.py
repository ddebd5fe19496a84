"""What a connector is."""

from collections.abc import Collection, Sequence
from typing import Any

from torch import Tensor, nn

from mtbert.errors import SettingsError


class Connector(nn.Module):
    """A part between encoder and heads that tasks share: embeddings in, as many embeddings out.

    Subclasses take (settings, width, tasks) and give `serves` and, unless that is nothing, `joined`.

    Args:
        settings: of the technique's own section.
        width: width of an embedding.
        tasks: all tasks of the variant. SettingsError where it cannot serve them.

    Attributes:
        served: those whose embeddings go through it; the other tasks' stay as they are.
        mixed: those of them where the two sentences of an example see one another in it.
    """

    def __init__(self, settings: Any, width: int, tasks: Sequence[str]) -> None:
        super().__init__()
        self.check(settings, tasks, width)
        self.settings = settings
        self.width = width
        self.served = frozenset(self.serves(settings, tasks)) & frozenset(tasks)
        self.mixed = frozenset(self.mixes(settings, tasks))

    @classmethod
    def serves(cls, settings: Any, tasks: Sequence[str]) -> Sequence[str]:
        """The tasks that it is for, also those that a variant of `tasks` does not have."""
        raise NotImplementedError

    @classmethod
    def mixes(cls, settings: Any, tasks: Sequence[str]) -> Collection[str]:
        """Of `tasks`, those where the two sentences of an example see one another in it."""
        return ()

    @classmethod
    def check(cls, settings: Any, tasks: Sequence[str], width: int | None = None) -> None:
        """SettingsError where it serves none of `tasks`, or not embeddings of that width, where it is known."""
        served = cls.serves(settings, tasks)
        if served and not set(served) & set(tasks):
            raise SettingsError(
                f"the connector serves {', '.join(served)}, but the variant trains {', '.join(tasks)}: nothing would "
                f"go through it"
            )

    def forward(self, task: str, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Embeddings [batch, width] of a task's examples, one or two each, to as many."""
        return self.joined(embeddings) if task in self.served else embeddings

    def joined(self, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """What it makes of the embeddings of a task that it serves."""
        raise NotImplementedError
