"""What a sampler is, and how random samplers draw."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from mtbert.settings import Section, TaskName

Group = tuple[str, ...]  # the tasks of one step, one batch each


@dataclass(frozen=True)
class Workload:
    """The facts of a phase that a sampler works from.

    Attributes:
        sizes: examples per task, in the order that params.yaml lists the tasks.
        epochs: number of epochs.
        steps: steps of an epoch where set; None leaves it to the sampler.
        batches: number of batches per task in which every example comes once, or the share of them that an epoch sees.
        turns: batches of each trained task in an epoch, where set; else `batches` holds.
    """

    sizes: Mapping[str, int]
    epochs: int
    steps: int | None
    batches: Mapping[str, int] = field(default_factory=dict)
    turns: Mapping[str, int] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """Steps of an epoch where they or the turns are set; a step holds one task."""
        return self.steps or sum(self.turns.values()) or None


class Sampler:
    """Decides which task or tasks each step trains. Subclasses define `groups`.

    An epoch's groups depend only on the epoch's number and the generator, so a resumed run draws the same ones.

    Attributes:
        several_tasks: whether a step holds several tasks.
    """

    several_tasks = False

    def __init__(self, settings: Any, workload: Workload) -> None:
        self.settings = settings
        self.workload = workload

    @property
    def steps(self) -> int:
        """Steps of an epoch: as set, else the turns of all tasks, else as many as all tasks have batches."""
        return self.workload.length or sum(self.workload.batches.values())

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Return the groups of epoch `epoch` (1, 2, ...): one for each step."""
        raise NotImplementedError


class RandomSettings(Section):
    """Settings of a sampler that draws: divisors of the tasks' weights before these become probabilities."""

    divide: dict[TaskName, Annotated[float, Field(gt=0)]] = {}


class RandomSampler(Sampler):
    """Draws one task for each step, with p_i proportional to N_i^a / d_i. Subclasses define `exponent`.

    The sizes N_i are Stickland and Murray's (2019, section 3): a is 1 for shares by size, 0 for even ones. The divisors
    d_i are those of "My PAL BERT" (section 5.3), which draws SNLI a tenth as often; d_i is 1 where not set.
    """

    def exponent(self, epoch: int) -> float:
        """Return a."""
        raise NotImplementedError

    def probabilities(self, epoch: int) -> dict[str, float]:
        """Return p of each task in an epoch."""
        exponent, divide = self.exponent(epoch), self.settings.divide
        weights = {task: float(size) ** exponent / divide.get(task, 1.0) for task, size in self.workload.sizes.items()}
        total = sum(weights.values())
        return {task: weight / total for task, weight in weights.items()}

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """Draw one task for each step, independently."""
        probabilities = self.probabilities(epoch)
        tasks = list(probabilities)
        picks = generator.choice(len(tasks), size=self.steps, p=list(probabilities.values()))
        return [(tasks[pick],) for pick in picks]
