"""Round-robin: the tasks take turns.

Formula: step t of the phase trains task t mod T, so that every task gets as many steps, whatever its size. Where an
epoch gives tasks other numbers of steps, B_i of task i, the j-th step of task i stands at (j + 1/2) / B_i of the epoch.

Source: minBERT and PALs, section on sampling; Stickland and Murray (2019), section 3.
"""

import numpy as np

from mtbert.learning.samplers.base import Group, Sampler


class RoundRobin(Sampler):
    """The tasks take turns, in the order that params.yaml lists them."""

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Return one task for each step, in turn; draws nothing from the generator."""
        turns = self.workload.turns
        if len({*turns.values()}) > 1:
            places = [((turn + 0.5) / count, task) for task, count in turns.items() for turn in range(count)]
            return [(task,) for _, task in sorted(places, key=lambda place: place[0])]
        tasks = list(self.workload.sizes)
        first = (epoch - 1) * self.steps
        return [(tasks[step % len(tasks)],) for step in range(first, first + self.steps)]
