"""Round-robin until the smallest set ends.

What it does: trains one batch of each task in turn, from the first. The epoch ends once the smallest set, or the one
that `until` names, has been seen. The large sets lose nothing: the next epoch goes on where this one stopped.

Formula: step t of an epoch trains task t mod T; an epoch has T min_i B_i steps, or T B_u with `until: u`.

Source: "My PAL BERT", section 4.1, second of its three orders, which calls SST the smallest: `until: sst`. (STS is.)

Symbols: T tasks; B_i batches of task i.

Where the length of an epoch is set, it has no more steps than that.
"""

from typing import Literal

import numpy as np

from mtbert.errors import SettingsError
from mtbert.learning.samplers.base import Group, Sampler, Workload
from mtbert.settings import Section, TaskName


class Settings(Section):
    """Section `round_robin_shortest`: the set whose end ends the epoch: `smallest`, or that of a task."""

    until: Literal["smallest"] | TaskName = "smallest"


class RoundRobinShortest(Sampler):
    """The tasks take turns until one set has been seen."""

    def __init__(self, settings: Settings, workload: Workload) -> None:
        super().__init__(settings, workload)
        if settings.until not in ("smallest", *workload.sizes):
            raise SettingsError(
                f"round_robin_shortest.until is {settings.until}, which the phase does not train; allowed: smallest, "
                f"{', '.join(workload.sizes)}"
            )

    @property
    def steps(self) -> int:
        """Steps of an epoch: as many as that set has batches, times the tasks; no more than set."""
        batches = self.workload.batches
        until = min(batches.values()) if self.settings.until == "smallest" else batches[self.settings.until]
        whole = len(batches) * until
        return min(whole, self.workload.length or whole)

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Return one task for each step, in turn; draws nothing from the generator."""
        tasks = list(self.workload.sizes)
        return [(tasks[step % len(tasks)],) for step in range(self.steps)]
