"""Interleaved: every step holds one batch of every task.

What it does: the tasks' losses of a step make one gradient, by the phase's gradient rule, so this is the sampler that
gradient surgery needs.

Formula: group = (1, ..., T) in every step.

Source: SlapBERT, section 4.4. Symbols: T tasks.

Where `training.steps_per_epoch` is not set, an epoch has as many steps as see as many examples as the tasks have
together: the batches of all tasks, divided by T and rounded up; where `training.examples_per_task` is set, it has as
many as see that many of each, which is a T-th of the other samplers' steps. A step costs as much as T of another
sampler's.

Prefer `annealed` where sizes differ so much that the small sets would be seen many times over.
"""

import numpy as np

from mtbert.samplers.base import Group, Sampler


class Interleaved(Sampler):
    """One batch of every task in each step."""

    several_tasks = True

    @property
    def steps(self) -> int:
        """As set, or one for each turn of the tasks, or all batches over the number of tasks."""
        return self.plan.steps or self.plan.turns or -(-sum(self.plan.batches.values()) // len(self.plan.batches))

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Nothing is drawn: the generator stays untouched."""
        return [tuple(self.plan.sizes)] * self.steps
