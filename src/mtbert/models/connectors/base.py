"""What a connector is."""

from collections.abc import Collection, Sequence
from typing import Any

from torch import Tensor, nn

from mtbert.errors import SettingsError


class Connector(nn.Module):
    """A part between encoder and heads that tasks share; it returns as many embeddings as it gets.

    Subclasses take (settings, width, tasks). They define `serves` and `joined`, or serve no task.

    Args:
        tasks: all tasks of the variant; SettingsError where it cannot serve them.

    Attributes:
        served: the tasks whose embeddings go through it; those of other tasks stay as they are.
        mixed: the served tasks where it shows the two sentences of an example to each other.
    """

    def __init__(self, settings: Any, width: int, tasks: Sequence[str]) -> None:
        super().__init__()
        self.check(settings, tasks, width)
        self.settings = settings
        self.served = frozenset(self.serves(settings, tasks)) & frozenset(tasks)
        self.mixed = frozenset(self.mixes(settings, tasks))

    @classmethod
    def serves(cls, settings: Any, tasks: Sequence[str]) -> Sequence[str]:
        """Return the tasks that it serves, also those that the variant (`tasks`) does not train; here, none."""
        return ()

    @classmethod
    def mixes(cls, settings: Any, tasks: Sequence[str]) -> Collection[str]:
        """Return the tasks, of those in `tasks`, where it shows the two sentences of an example to each other."""
        return ()

    @classmethod
    def check(cls, settings: Any, tasks: Sequence[str], width: int | None = None) -> None:
        """Raise SettingsError where it serves none of `tasks`, or cannot take embeddings of `width`, where given."""
        served = cls.serves(settings, tasks)
        if served and not set(served) & set(tasks):
            raise SettingsError(
                f"the connector serves {', '.join(served)}, but the variant trains {', '.join(tasks)}: nothing would "
                f"go through it; allowed: at least one task that the variant trains"
            )

    def forward(self, task: str, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Map embeddings [batch, width] of a task's examples, one or two for each example, to as many."""
        return self.joined(task, embeddings) if task in self.served else embeddings

    def joined(self, task: str, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Map the embeddings of a task that it serves."""
        raise NotImplementedError
