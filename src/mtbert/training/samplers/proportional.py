"""Proportional sampling: a task's chance is its share of the examples.

Formula: p_i = N_i / sum_j N_j.

Source: Stickland and Murray (2019), section 3. Symbols: N_i examples of task i (`plan.sizes`).

Prefer `square_root` or `annealed` where one set is so large that the others hardly get a turn.
"""

import numpy as np

from mtbert.training.samplers.base import Group, RandomSettings, Sampler, draw, task_probabilities


class Settings(RandomSettings):
    """Section `proportional`."""


class Proportional(Sampler):
    """Each step draws one task with p_i proportional to N_i."""

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Draw one task for each step."""
        return draw(task_probabilities(self.plan.sizes, 1.0, self.settings.divide), self.steps, generator)
