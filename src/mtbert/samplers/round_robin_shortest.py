"""Round-robin until the smallest set ends.

What it does: one batch of each task in turn, from the first; the epoch is over once the smallest set, or the one that
`until` names, has been seen. The large sets lose nothing by it: the next epoch goes on where this one stopped.

Formula: step t of an epoch trains task t mod T; an epoch has T min_i B_i steps, or T B_u with `until: u`.

Source: "My PAL BERT", section 4.1, second of its three orders, which calls SST the smallest: `until: sst`. (STS is.)

Symbols: T tasks; B_i batches of task i.

Where the length of an epoch is set, it has no more steps than that.

Prefer `round_robin` where an epoch should not depend on one set, such as beside a sampler with steps of its own.

Raises: SettingsError where `until` names what the phase does not train.
"""

from typing import Literal

import numpy as np

from mtbert.errors import SettingsError
from mtbert.samplers.base import Group, Plan, Sampler
from mtbert.settings import PhaseTask, Section


class Settings(Section):
    """Section `round_robin_shortest`: whose end is the epoch's: `smallest`, or a task."""

    until: Literal["smallest"] | PhaseTask = "smallest"


class RoundRobinShortest(Sampler):
    """The tasks take turns until one set has been seen."""

    def __init__(self, settings: Settings, plan: Plan) -> None:
        super().__init__(settings, plan)
        if settings.until not in ("smallest", *plan.sizes):
            raise SettingsError(
                f"round_robin_shortest.until is {settings.until}, which the phase does not train; allowed: smallest, "
                f"{', '.join(plan.sizes)}"
            )

    @property
    def steps(self) -> int:
        """As many as that set has batches, times the tasks."""
        batches = self.plan.batches
        until = min(batches.values()) if self.settings.until == "smallest" else batches[self.settings.until]
        return min(len(batches) * until, self.plan.steps or (self.plan.turns or until) * len(batches))

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Nothing is drawn: the generator stays untouched."""
        tasks = list(self.plan.sizes)
        return [(tasks[step % len(tasks)],) for step in range(self.steps)]
