"""Unsupervised SimCSE: two embeddings of a sentence by different dropout masks should be nearer than any others.

Formula: term = weight * mean_i -log( exp(cos(z_i, z_i') / tau) / sum_j exp(cos(z_i, z_j') / tau) ), j of i's group.

Source: Gao et al. (2021), section 3, equation 4, as "My PAL BERT", section 4.1 first used it.

Symbols: z_i, z_i' the embeddings of sentence i (or of a pair that is one sequence) under two dropout masks; tau
`temperature`, 0.05 as Gao et al. have it. The group is the batch, or with `negatives` one of as few groups as hold at
most that many examples each, of sizes that differ by one at most: example n of N groups is in group n mod N, as on one
of N processes. A sentence alone in its group has no negatives, and its loss is 0.

Shapes: z [rows, width]: of pairs encoded apart, first and second sentences are rows of one matrix.

Mind that without dropout in the encoder (the paper has 0.1) the two embeddings are the same, and the term teaches only
that sentences differ. It costs two forward passes.
"""

import math
from collections.abc import Sequence
from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.learning.objectives.base import Objective
from mtbert.settings import BATCH, Section, TaskName

Negatives = Annotated[int | None, BATCH]


class Settings(Section):
    """Section `simcse`: see the module's symbols.

    Attributes:
        negatives: most examples of a group, or the whole `batch`.
        tasks: those whose batches get the term, sts as in the paper.
    """

    weight: float = Field(default=1.0, ge=0)
    temperature: float = Field(default=0.05, gt=0, le=100)
    negatives: Negatives = Field(default=None, ge=2)
    tasks: list[TaskName] = ["sts"]


class SimCse(Objective):
    """Contrasts embeddings under two dropout masks by cosine."""

    settings: Settings

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return the weighted contrast on the tasks that it is for; 0 on others."""
        if batch.task not in self.settings.tasks:
            return outputs.sum() * 0
        first = self.model.embeddings(batch)  # of each sentence of an example, [examples, width]
        second = self.model.embeddings(batch)
        # in bf16 cosines near 1 are 1/256 apart, and over a tau of 0.05 then 0.08
        with torch.autocast(batch.input_ids.device.type, enabled=False):
            return self.settings.weight * self.contrast(first, second, len(batch))

    def contrast(self, first: Sequence[Tensor], second: Sequence[Tensor], examples: int) -> Tensor:
        """Return the mean over all rows of the cross entropy towards their partners, within groups."""
        groups = math.ceil(examples / (self.settings.negatives or examples))
        losses = []
        for group in range(groups):
            similarities = self.similarities(_rows(first, group, groups), _rows(second, group, groups))
            partners = torch.arange(len(similarities), device=similarities.device)
            losses.append(F.cross_entropy(similarities, partners, reduction="sum"))
        return torch.stack(losses).sum() / (len(first) * examples)

    def similarities(self, first: Tensor, second: Tensor) -> Tensor:
        """Return how similar each row of the first is to each of the second, [rows, rows]."""
        cosines = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T
        return cosines / self.settings.temperature


def _rows(embeddings: Sequence[Tensor], group: int, groups: int) -> Tensor:
    """Return a group's embeddings [rows, width] in fp32: every `groups`-th of each sentence."""
    return torch.cat([sentence[group::groups] for sentence in embeddings]).float()
