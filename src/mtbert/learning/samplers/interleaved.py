"""Interleaved: every step holds one batch of every task.

Formula: group = (1, ..., T) in every step.

Source: SlapBERT, section 4.4. Symbols: T tasks.

Where `training.epoch_length` is `all`, an epoch sees as many examples as the tasks have together: it has the batches
of all tasks, divided by T and rounded up, as steps. Where it counts examples of each task, it sees that many of each,
in a T-th of the other samplers' steps. A step costs as much as T steps of another sampler.
"""

import math

import numpy as np

from mtbert.learning.samplers.base import Group, Sampler


class Interleaved(Sampler):
    """One batch of every task in each step."""

    several_tasks = True

    @property
    def steps(self) -> int:
        """Steps of an epoch: as set, else the most turns of a task, else all batches over the number of tasks."""
        workload = self.workload
        every = math.ceil(sum(workload.batches.values()) / len(workload.sizes))
        return workload.steps or max(workload.turns.values(), default=every)

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Return all tasks for every step; draws nothing from the generator."""
        return [tuple(self.workload.sizes)] * self.steps
