"""Square-root sampling: a task's chance grows with the root of its size.

Formula: p_i = N_i^0.5 / sum_j N_j^0.5.

Source: Stickland and Murray (2019), section 3. Symbols: N_i examples of task i (`workload.sizes`).
"""

from mtbert.learning.samplers.base import RandomSampler


class SquareRoot(RandomSampler):
    """Each step draws one task with p_i proportional to the root of N_i."""

    def exponent(self, epoch: int) -> float:
        """Return 1/2."""
        return 0.5
