"""Fixed: each task's loss counts as much as it is given.

Formula: l_t' = w_t l_t.

Source: the usual multi-task objective; Kurin et al. (2022) and Xin et al. (2022) find that with weights chosen as
carefully as the settings of others it is not beaten. Symbols: l_t the loss of task t, w_t its weight, 1 where none is
given; a weight of a task that a phase does not train does nothing there.

Prefer `equal` where all weights would be 1.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field
from torch import Tensor

from mtbert.settings import PhaseTask, Section
from mtbert.weightings.base import Mean, Weighting


class Settings(Section):
    """Section `fixed`: the weight of each task's loss, 1 where none is given."""

    weights: dict[PhaseTask, Annotated[float, Field(gt=0)]] = {}


class Fixed(Weighting):
    """Losses times what was given."""

    def forward(self, losses: Mapping[str, Tensor], mean: Mean) -> dict[str, Tensor]:
        """Each times its weight."""
        return {task: loss * self.settings.weights.get(task, 1.0) for task, loss in losses.items()}
