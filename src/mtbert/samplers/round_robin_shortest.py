"""Round-robin until the smallest set ends.

What it does: one batch of each task in turn, from the first; the epoch is over once the smallest set has been seen. The
large sets lose nothing by it: the next epoch goes on where this one stopped.

Formula: step t of an epoch trains task t mod T; an epoch has T min_i B_i steps.

Source: "My PAL BERT", section 4.1, second of its three orders. Symbols: T tasks; B_i batches of task i.

Where `training.steps_per_epoch` is set, an epoch has no more steps than that.

Prefer `round_robin` where an epoch should not depend on the smallest set.
"""

import numpy as np

from mtbert.samplers.base import Group, Sampler


class RoundRobinShortest(Sampler):
    """The tasks take turns until the smallest set has been seen."""

    @property
    def steps(self) -> int:
        """As many as the smallest set has batches, times the tasks."""
        shortest = len(self.plan.batches) * min(self.plan.batches.values())
        return min(shortest, self.plan.steps or shortest)

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Nothing is drawn: the generator stays untouched."""
        tasks = list(self.plan.sizes)
        return [(tasks[step % len(tasks)],) for step in range(self.steps)]
