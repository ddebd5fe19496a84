"""Dynamic average: a task counts the more, the more slowly its loss has been falling (DWA).

Formula: l_t' = w_t l_t, w_t = T exp(r_t / tau) / sum_u exp(r_u / tau), where r_t is the task's mean loss of the last
epoch over that of the one before it; in the first two epochs w_t = 1.

Source: Liu et al. (2019), section on dynamic weight average; tau = 2 is theirs. Symbols: l_t the loss of task t, with
the terms of its objectives, T tasks of the phase, tau the temperature: the larger, the more alike tasks count.

Losses are means over the task's steps of an epoch. A task without a step in an epoch keeps the losses that it had. A
mean loss of 0 cannot fall, so r_t is 1 there.

Prefer it where a training has many epochs: with two or fewer it is `equal`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from pydantic import Field

from mtbert.learning.weightings.base import Placed
from mtbert.settings import Section
from mtbert.tasks import Tasks


class Settings(Section):
    """Section `dynamic_average`: the temperature."""

    temperature: float = Field(default=2.0, gt=0, le=100)


class DynamicAverage(Placed):
    """Weights each loss by how slowly it has been falling."""

    changes = (*Placed.changes, "means")
    between = ("means",)

    def __init__(self, settings: Settings, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__(settings, tasks, generator)
        self.means: dict[str, list[float]] = {task: [] for task in tasks}  # of the last two epochs
        self.place(self.computed().values())

    def computed(self) -> dict[str, float]:
        """Return w of each task."""
        from scipy.special import softmax

        ratios = np.array([_ratio(means) for means in self.means.values()])
        counts = len(ratios) * softmax(ratios / self.settings.temperature)
        return dict(zip(self.means, counts.tolist(), strict=True))

    def after_epoch(self, losses: Mapping[str, float]) -> None:
        """Record the epoch's losses, and place the weights of the next epoch."""
        for task, loss in losses.items():
            self.means[task] = [*self.means[task][-1:], loss]
        self.place(self.computed().values())

    def values(self) -> dict[str, float]:
        """Return w of each task."""
        return {f"weight/{task}": weight for task, weight in self.computed().items()}


def _ratio(means: Sequence[float]) -> float:
    return means[1] / means[0] if len(means) == 2 and means[0] else 1.0
