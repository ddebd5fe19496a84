"""What a sampler is, and the drawing that the random ones share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from mtbert.settings import PhaseTask, Section
from mtbert.tasks import served

Group = tuple[str, ...]  # the tasks of one step, one batch each


@dataclass(frozen=True)
class Plan:
    """What a sampler knows of its phase.

    Attributes:
        sizes: examples per task, in the order that params.yaml lists the tasks.
        epochs: number of epochs.
        steps: steps in each, as set; None leaves it to the sampler.
        batches: batches per task in which every example comes once, or the share of them that an epoch is to see.
        turns: batches of each task in an epoch where its length is stated so; None leaves it to `batches`.
    """

    sizes: Mapping[str, int]
    epochs: int
    steps: int | None
    batches: Mapping[str, int] = field(default_factory=dict)
    turns: int | None = None

    @property
    def tasks(self) -> int:
        """How many tasks are trained; a corpus that is reused for one is none of its own."""
        return len({served(name) for name in self.sizes})


class Sampler:
    """Decides which task or tasks each step trains. Subclasses give `groups`.

    An epoch's groups depend on nothing but the epoch's number and the generator, so a resumed run draws the same ones.

    Attributes:
        several_tasks: whether a step holds several tasks.
    """

    several_tasks = False

    def __init__(self, settings: Any, plan: Plan) -> None:
        self.settings = settings
        self.plan = plan

    @property
    def steps(self) -> int:
        """Steps in an epoch: as set, or so many turns for each task, or as many as see what all tasks have together."""
        plan = self.plan
        return plan.steps or (plan.turns or 0) * plan.tasks or sum(plan.batches.values())

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """The groups of epoch 1, 2, ...: one per step."""
        raise NotImplementedError


class RandomSettings(Section):
    """Settings of a sampler that draws: by what a task's weight is divided before the weights become probabilities."""

    divide: dict[PhaseTask, Annotated[float, Field(gt=0)]] = {}


def task_probabilities(
    sizes: Mapping[str, int], exponent: float, divide: Mapping[str, float] | None = None
) -> dict[str, float]:
    """p_i proportional to N_i ^ exponent / d_i: 1 by size, 0 even (Stickland and Murray 2019, section 3).

    Dividing is "My PAL BERT"'s (section 5.3), which draws SNLI a tenth as often; d_i is 1 where nothing is given.
    """
    weights = {task: float(size) ** exponent / (divide or {}).get(task, 1.0) for task, size in sizes.items()}
    total = sum(weights.values())
    return {task: weight / total for task, weight in weights.items()}


def draw(probabilities: Mapping[str, float], steps: int, generator: np.random.Generator) -> list[Group]:
    """One task a step, drawn independently."""
    tasks = list(probabilities)
    picks = generator.choice(len(tasks), size=steps, p=list(probabilities.values()))
    return [(tasks[pick],) for pick in picks]
