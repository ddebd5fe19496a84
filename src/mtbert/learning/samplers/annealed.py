"""Annealed sampling: proportional to size at first, nearly even at the end.

What it does: trains mostly on the large sets in early epochs and on all tasks in late ones, so that the last updates
do not make the model forget the small tasks.

Formula: p_i proportional to N_i^a with a = 1 - 0.8 (e - 1) / (E - 1).

Source: Stickland and Murray (2019), section 3, equation for alpha.
Symbols: e epoch, counted from 1; E number of epochs; 0.8 `decrease`. With a single epoch a is 1.
"""

from pydantic import Field

from mtbert.learning.samplers.base import RandomSampler, RandomSettings


class Settings(RandomSettings):
    """Section `annealed`: by how much the exponent falls from the first epoch to the last."""

    decrease: float = Field(default=0.8, ge=0, le=1)


class Annealed(RandomSampler):
    """Each step draws one task with p_i proportional to N_i^a, a falling from epoch to epoch."""

    def exponent(self, epoch: int) -> float:
        """Return a; 1 where there is only one epoch."""
        return 1.0 - self.settings.decrease * (epoch - 1) / max(1, self.workload.epochs - 1)
