"""FAMO: move weights so that all losses fall at the same rate, without a gradient of each task.

Formula: l_t' = T c (z_t / l_t) l_t, where z = softmax(w), c = 1 / sum_u (z_u / l_u), and no gradient flows through
z_t / l_t and c. After the update, with l_t+ the loss of the same batch by the moved weights, Adam takes a step on w
with the gradient sum_u (dz_u / dw) (log l_u - log l_u+) + gamma w, w being 0 at first.

Source: Liu et al. (2023), section 3 and algorithm 1. l_t+ is computed once more, as in the authors' code, and
not taken from the next step's batch: that costs a forward pass of every step, with new dropout. The learning rate of w,
0.025, and gamma, 0.01, are those of that code. The factor T is ours, so that weights are 1 on average, as `equal` has
them. The lowest possible loss is taken to be 0, and 1e-8 is added to each loss.

Symbols: l_t the loss of task t, with the terms of its objectives; T tasks of the phase.

It needs all tasks in every step. Prefer `dynamic_average` where another forward pass is too expensive.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from mtbert.learning.weightings.base import Again, Weighting
from mtbert.settings import Section
from mtbert.tasks import Tasks

SMALL = 1e-8


class Settings(Section):
    """Section `famo`: how fast the logits of the weights move, and how strongly they are drawn back to 0."""

    learning_rate: float = Field(default=0.025, gt=0, le=100)
    decay: float = Field(default=0.01, ge=0)


class Famo(Weighting):
    """Weights each loss by a learnt share over its value; the logits stay on the CPU."""

    several_tasks = True
    changes = ("logits", "optimiser")

    def __init__(self, settings: Settings, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__(settings, tasks, generator)
        self.logits = {task: torch.zeros((), dtype=torch.float64) for task in tasks}
        self.optimiser = torch.optim.Adam(
            self.logits.values(), lr=settings.learning_rate, weight_decay=settings.decay, foreach=False
        )

    def forward(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Multiply each loss by its weight."""
        shares = self.shares(losses)
        weights = shares / shifted(losses.values())
        weights = len(losses) * weights / weights.sum()
        return {task: loss * weight for (task, loss), weight in zip(losses.items(), weights.tolist(), strict=True)}

    def after_update(self, losses: Mapping[str, Tensor], again: Again) -> None:
        """Move the weights."""
        now = again()
        fallen = shifted(losses.values()).log() - shifted(now[task] for task in losses).log()
        shares = self.shares(losses)
        self.optimiser.zero_grad()
        for task, slope in zip(losses, shares * (fallen - shares @ fallen), strict=True):
            self.logits[task].grad = slope
        self.optimiser.step()

    def shares(self, tasks: Mapping[str, Any]) -> Tensor:
        """Return z of each of these tasks, [tasks]."""
        return torch.stack([self.logits[task] for task in tasks]).softmax(dim=0)

    def values(self) -> dict[str, float]:
        """Return z of each task."""
        return {f"z/{task}": share for task, share in zip(self.logits, self.shares(self.logits).tolist(), strict=True)}


def shifted(losses: Iterable[Tensor]) -> Tensor:
    """Return losses that have a logarithm, [tasks], on the CPU."""
    return torch.tensor([loss.item() for loss in losses], dtype=torch.float64) + SMALL
