"""Sequential: all of the first task, then all of the second, and so on, in every epoch.

Formula: task i gets B_i steps of an epoch, in the order that params.yaml lists the tasks.

Source: "My PAL BERT", sections 4.1 and 4.2, first of its three orders. Symbols: B_i batches of task i.

Where the length of an epoch is set, each task gets one of those steps, and the rest is shared in proportion to B_i:
task i's turn ends at i + round((S - T) (B_1 + ... + B_i) / (B_1 + ... + B_T)) of S steps, with T tasks.
"""

from itertools import accumulate, pairwise

import numpy as np

from mtbert.learning.samplers.base import Group, Sampler


class Sequential(Sampler):
    """One task after the other."""

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Return one task for each step, task after task; draws nothing from the generator."""
        ends = list(accumulate(self.workload.batches.values(), initial=0))
        total = ends[-1]
        if self.steps != total:
            rest = max(0, self.steps - len(self.workload.batches))
            ends = [number + round(rest * end / total) for number, end in enumerate(ends)]
        groups: list[Group] = []
        for task, (start, end) in zip(self.workload.batches, pairwise(ends), strict=True):
            groups += [(task,)] * (end - start)
        return groups[: self.steps]
