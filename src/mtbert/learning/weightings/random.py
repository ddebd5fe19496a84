"""Random: draw new weights for every update (RLW).

Formula: l_t' = T softmax(x)_t l_t with x_1, ..., x_T drawn from the standard normal distribution.

Source: Lin et al. (2022), section 3, with its normal distribution. The factor T is ours, so that weights are 1 on
average, as `equal` has them, and `training.clip` means the same. Symbols: l_t the loss of task t, T tasks of the
phase.

Weights are drawn after each update for the next one. Where a step holds one task, its loss has its own of these
weights, so that tasks still count alike on average.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from mtbert.learning.weightings.base import Again, Placed
from mtbert.settings import NoOptions
from mtbert.tasks import Tasks


class Random(Placed):
    """Multiplies losses by random weights."""

    changes = (*Placed.changes, "generator")
    between = ("generator",)

    def __init__(self, settings: NoOptions, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__(settings, tasks, generator)
        self._draw()

    def after_update(self, losses: Mapping[str, Tensor], again: Again) -> None:
        """Draw the weights of the next update."""
        self._draw()

    def _draw(self) -> None:
        drawn = torch.randn(len(self.tasks), generator=self.generator, dtype=torch.float64).softmax(dim=0)
        self.place((len(self.tasks) * drawn).tolist())
