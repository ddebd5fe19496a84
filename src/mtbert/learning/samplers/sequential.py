"""Sequential: all of the first task, then all of the second, and so on, in every epoch.

Formula: task i gets min(B_i, M_i) steps of an epoch, in `order`, else in the order that params.yaml lists the tasks.

Source: "My PAL BERT", sections 4.1 and 4.2, first of its three orders. Its code with PALs and without annealing
(github.com/ColinSulli/CS224N_Final_Project, commit f79e8f4) begins with Quora, and cuts it at 1,800 batches: `order:
[qqp, sst, sts]` and `most: {qqp: 1800}`.

Symbols: B_i batches of task i; M_i `most`. A set that is cut goes on in the next epoch where this one stopped.

Where the length of an epoch is set, each task gets one of those steps, and the rest is shared in proportion to
b_i = min(B_i, M_i): task i's turn ends at i + round((S - T) (b_1 + ... + b_i) / (b_1 + ... + b_T)) of S steps, with T
tasks.
"""

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Annotated

import numpy as np
from pydantic import Field

from mtbert.errors import SettingsError
from mtbert.learning.samplers.base import Group, Sampler, Workload
from mtbert.settings import ONCE, Section, TaskName


class Settings(Section):
    """Section `sequential`.

    Attributes:
        order: of the tasks; empty for that of params.yaml.
        most: by task, the most batches that an epoch has of it.
    """

    order: Annotated[list[TaskName], ONCE] = []
    most: dict[TaskName, Annotated[int, Field(ge=1)]] = {}


class Sequential(Sampler):
    """One task after the other."""

    def __init__(self, settings: Settings, workload: Workload) -> None:
        super().__init__(settings, workload)
        tasks = [*workload.sizes]
        if settings.order and sorted(settings.order) != sorted(tasks):
            raise SettingsError(
                f"sequential.order is {', '.join(settings.order)}; allowed: the tasks of the phase, each once: "
                f"{', '.join(tasks)}"
            )
        if unknown := [task for task in settings.most if task not in tasks]:
            raise SettingsError(
                f"sequential.most names {unknown[0]}, which the phase does not train; allowed: {', '.join(tasks)}"
            )

    @property
    def batches(self) -> Mapping[str, int]:
        """Batches of each task in an epoch whose length is not set, in the order of the turns."""
        most = self.settings.most
        order = self.settings.order or [*self.workload.batches]
        return {task: min(self.workload.batches[task], most.get(task, self.workload.batches[task])) for task in order}

    @property
    def steps(self) -> int:
        """Steps of an epoch: as set, else the batches of all tasks."""
        return self.workload.length or sum(self.batches.values())

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Return one task for each step, task after task; draws nothing from the generator."""
        ends = list(accumulate(self.batches.values(), initial=0))
        total = ends[-1]
        if self.steps != total:
            rest = max(0, self.steps - len(self.batches))
            ends = [number + round(rest * end / total) for number, end in enumerate(ends)]
        groups: list[Group] = []
        for task, (start, end) in zip(self.batches, pairwise(ends), strict=True):
            groups += [(task,)] * (end - start)
        return groups[: self.steps]
