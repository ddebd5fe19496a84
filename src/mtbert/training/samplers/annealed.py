"""Annealed sampling: proportional to size at first, nearly even at the end.

What it does: trains mostly on the large sets in early epochs and on all tasks in late ones, so that the last updates
do not make the model forget the small tasks.

Formula: p_i proportional to N_i^a with a = 1 - 0.8 (e - 1) / (E - 1).

Source: Stickland and Murray (2019), section 3, equation for alpha.
Symbols: e epoch, counted from 1; E number of epochs; 0.8 `decrease`. With a single epoch a is 1.

Prefer `square_root` for a single epoch, where nothing can be annealed.
"""

import numpy as np
from pydantic import Field

from mtbert.training.samplers.base import Group, RandomSettings, Sampler, draw, task_probabilities


class Settings(RandomSettings):
    """Section `annealed`: by how much the exponent falls from the first epoch to the last."""

    decrease: float = Field(default=0.8, ge=0, le=1)


def exponent(epoch: int, epochs: int, decrease: float = 0.8) -> float:
    """Return a of epoch `epoch` (1, 2, ...) of `epochs`; 1 where there is only one."""
    if epochs == 1:
        return 1.0
    return 1.0 - decrease * (epoch - 1) / (epochs - 1)


class Annealed(Sampler):
    """Each step draws one task with p_i proportional to N_i^a, a falling from epoch to epoch."""

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Draw one task for each step."""
        power = exponent(epoch, self.plan.epochs, self.settings.decrease)
        return draw(task_probabilities(self.plan.sizes, power, self.settings.divide), self.steps, generator)
