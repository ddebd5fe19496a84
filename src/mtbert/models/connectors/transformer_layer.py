"""Shared transformer layer: an encoder layer over the stacked embeddings of an example's sentences.

What it does: lets the two embeddings of a pair attend to each other before their head reads them, as a sequence of two;
a single sentence is a sequence of one. Shared by all tasks this is ShareBERT; for sts alone, the step before it.

Formula: (h1', h2') = Layer((h1, h2)), one BERT layer: attention and feed-forward, each with LN(x + f(x)). For a task in
`apart`, h1' = Layer((h1)) and h2' = Layer((h2)): each sentence goes through the layer alone, as a single one does.

Source: SlapBERT, sections 4.3 (sts alone) and 4.4 (all tasks); the layer is torch's, with BERT's proportions.
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.errors import SettingsError
from mtbert.models.connectors.base import Connector
from mtbert.settings import Section, TaskName


class Settings(Section):
    """Section `transformer_layer`: the tasks that it serves, those whose sentences stay apart, heads, dropout."""

    tasks: Literal["all"] | Annotated[list[TaskName], Field(min_length=1)] = "all"
    apart: list[TaskName] = []
    heads: int = Field(default=12, ge=1, le=256)
    dropout: float = Field(default=0.1, ge=0, lt=1)


class TransformerLayer(Connector):
    """One encoder layer for all tasks that it serves."""

    def __init__(self, settings: Settings, width: int, tasks: Sequence[str]) -> None:
        super().__init__(settings, width, tasks)
        self.layer = nn.TransformerEncoderLayer(
            width, settings.heads, 4 * width, settings.dropout, activation="gelu", batch_first=True
        )

    @classmethod
    def serves(cls, settings: Settings, tasks: Sequence[str]) -> Sequence[str]:
        """Return the tasks that its section lists, or all of the variant."""
        return tasks if settings.tasks == "all" else settings.tasks

    @classmethod
    def mixes(cls, settings: Settings, tasks: Sequence[str]) -> Collection[str]:
        """Return all tasks that it serves but those in `apart`."""
        served = set(cls.serves(settings, tasks)) & set(tasks)
        return served - set(settings.apart)

    @classmethod
    def check(cls, settings: Settings, tasks: Sequence[str], width: int | None = None) -> None:
        """Raise SettingsError also where the attention heads do not divide the width."""
        super().check(settings, tasks, width)
        if width is not None and width % settings.heads:
            raise SettingsError(f"transformer_layer.heads is {settings.heads}, which does not divide the width {width}")

    def joined(self, task: str, embeddings: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Let the sentences of an example attend to each other, or for a task in `apart` each to itself alone."""
        if task in self.settings.apart:
            return self.layer(torch.cat(embeddings).unsqueeze(1)).squeeze(1).chunk(len(embeddings))
        return self.layer(torch.stack(embeddings, dim=1)).unbind(dim=1)  # [batch, sentences, width]
