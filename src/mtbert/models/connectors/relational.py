"""Relational layer: one linear layer that two related tasks share before their heads.

Formula: h' = W h + b, for every embedding h of the tasks in `tasks`.

Source: "My PAL BERT", section 4.1, model 6, for qqp and sts. The paper names no activation: there is none.
"""

from collections.abc import Sequence

from pydantic import Field
from torch import Tensor, nn

from mtbert.models.connectors.base import Connector
from mtbert.settings import Section, TaskName


class Settings(Section):
    """Section `relational`: the tasks whose embeddings go through the layer."""

    tasks: list[TaskName] = Field(default=["qqp", "sts"], min_length=1)


class Relational(Connector):
    """One linear layer for all tasks that it serves."""

    def __init__(self, settings: Settings, width: int, tasks: Sequence[str]) -> None:
        super().__init__(settings, width, tasks)
        self.layer = nn.Linear(width, width)

    @classmethod
    def serves(cls, settings: Settings, tasks: Sequence[str]) -> Sequence[str]:
        """Return the tasks that its section lists."""
        return settings.tasks

    def joined(self, task: str, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Apply the same layer to each."""
        return tuple(self.layer(embedding) for embedding in embeddings)
