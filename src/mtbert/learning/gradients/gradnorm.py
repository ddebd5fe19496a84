"""Learn weights that give each task's gradient the length that the task's progress calls for (GradNorm).

Formula: g = sum_t w_t g_t with w = T softmax(x), over the shared parameters and over each task's own. After each
update Adam takes a step on x, 0 at first, with the gradient of sum_t |w_t |g_t| - m_t|, where m_t is held as it is:
m_t = (1/T sum_u w_u |g_u|) r_t^alpha, and r_t is l_t over the task's first loss, divided by the mean of that over the
tasks.

Source: Chen et al. (2018), section 3, equations 1 and 2 and algorithm 1; alpha = 1.5 is one of its values, the
learning rate 0.025 is ours. Three things differ: |g_t| is taken over all shared parameters, not over the last
layer of them, since all are at hand; softmax keeps the weights positive and their sum at T, where the paper divides by
the sum; Adam is ours, since the paper names no optimiser.

Symbols: l_t the loss of task t, g_t its gradient, T tasks. It is a weighting in the paper, and a rule here, since
weightings see no gradients.

Mind that beside a `weighting` g_t is the gradient of the weighted loss, and l_t is the loss before it was weighted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.learning.gradients.gramian import Array, GramianRule
from mtbert.settings import Section

UNKNOWN = torch.tensor([torch.nan], dtype=torch.float64)  # the lengths of gradients that are not finite


class Settings(Section):
    """Section `gradnorm`: how fast the logits of the weights move, and how strongly slow tasks are helped."""

    learning_rate: float = Field(default=0.025, gt=0, le=100)
    alpha: float = Field(default=1.5, ge=0)


class GradNorm(GramianRule):
    """Multiplies gradients by learnt weights; their logits stay on the CPU."""

    changes = (*GramianRule.changes, "logits", "first", "optimiser")

    def __init__(self, settings: Settings, generator: torch.Generator) -> None:
        super().__init__(settings, generator)
        self.lengths = UNKNOWN
        self._start(0)

    def _start(self, tasks: int) -> None:
        self.logits = torch.zeros(tasks, dtype=torch.float64)
        self.first = torch.zeros(tasks, dtype=torch.float64)  # losses; 0 before the first update
        self.optimiser = torch.optim.Adam([self.logits], lr=self.settings.learning_rate, foreach=False)

    def __call__(self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter]) -> None:
        """Forget the lengths of the step before: `counts` is not asked where a gradient is not finite."""
        self.lengths = UNKNOWN
        super().__call__(losses, parameters)

    def counts(self, gramian: Array) -> Array:
        """Return w of each task; keep the gradients' lengths for the update."""
        if not len(self.logits):
            self._start(len(gramian))
        self.lengths = torch.from_numpy(gramian).diagonal().sqrt()
        return self._weights().numpy()

    def within(self, counts: list[float], reached: int) -> list[float]:
        """Weight a task's own parameters, too."""
        return counts

    def after_update(self, losses: Mapping[str, Tensor]) -> None:
        """Move the weights; not where a loss or a gradient is not finite, which the loop reports."""
        now = torch.tensor([loss.item() for loss in losses.values()], dtype=torch.float64)
        if not now.isfinite().all() or not self.lengths.isfinite().all():
            return
        if not self.first.any():
            self.first = now.clamp(min=torch.finfo(now.dtype).tiny)
        weights, left = self._weights(), now / self.first
        meant = (weights * self.lengths).mean() * (left / left.mean()) ** self.settings.alpha
        by_weight = (weights * self.lengths - meant).sign() * self.lengths
        self.logits.grad = weights * (by_weight - (weights * by_weight).mean())
        self.optimiser.step()

    def _weights(self) -> Tensor:
        return len(self.logits) * self.logits.softmax(dim=0)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave, with as many tasks as it has."""
        self._start(len(state["logits"]))
        super().restore(state)
