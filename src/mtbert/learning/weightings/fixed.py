"""Fixed: each task's loss has a fixed weight.

Formula: l_t' = w_t l_t.

Source: the usual multi-task objective; Kurin et al. (2022) and Xin et al. (2022) find that with weights chosen as
carefully as the settings of others it is not beaten. Symbols: l_t the loss of task t, w_t its weight, 1 where none is
set; the weight of a task that a phase does not train has no effect there.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field
from torch import Tensor

from mtbert.learning.weightings.base import Weighting
from mtbert.settings import Section, TaskName


class Settings(Section):
    """Section `fixed`: the weight of each task's loss, 1 where none is set."""

    weights: dict[TaskName, Annotated[float, Field(gt=0)]] = {}


class Fixed(Weighting):
    """Multiplies losses by fixed weights."""

    def forward(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Multiply each loss by its weight."""
        return {task: loss * self.settings.weights.get(task, 1.0) for task, loss in losses.items()}
