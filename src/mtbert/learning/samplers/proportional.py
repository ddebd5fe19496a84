"""Proportional sampling: a task's chance is its share of the examples.

Formula: p_i = N_i / sum_j N_j.

Source: Stickland and Murray (2019), section 3. Symbols: N_i examples of task i (`workload.sizes`).
"""

from mtbert.learning.samplers.base import RandomSampler


class Proportional(RandomSampler):
    """Each step draws one task with p_i proportional to N_i."""

    def exponent(self, epoch: int) -> float:
        """Return 1."""
        return 1.0
