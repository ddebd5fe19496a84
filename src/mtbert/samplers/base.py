"""What a sampler is, and the drawing that the random ones share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Group = tuple[str, ...]  # the tasks of one step, one batch each


@dataclass(frozen=True)
class Plan:
    """What a sampler knows of its phase: examples per task, number of epochs, steps in each."""

    sizes: Mapping[str, int]
    epochs: int
    steps: int


class Sampler(Protocol):
    """Decides which task or tasks each step trains.

    An epoch's groups depend on nothing but the epoch's number and the generator, so a resumed run draws the same ones.
    """

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """The groups of epoch 1, 2, ...: one per step."""
        ...


def task_probabilities(sizes: Mapping[str, int], exponent: float) -> dict[str, float]:
    """p_i proportional to N_i ^ exponent: 1 by size, 0 even (Stickland and Murray 2019, section 3)."""
    weights = {task: float(size) ** exponent for task, size in sizes.items()}
    total = sum(weights.values())
    return {task: weight / total for task, weight in weights.items()}


def draw(probabilities: Mapping[str, float], steps: int, generator: np.random.Generator) -> list[Group]:
    """One task a step, drawn independently."""
    tasks = list(probabilities)
    picks = generator.choice(len(tasks), size=steps, p=list(probabilities.values()))
    return [(tasks[pick],) for pick in picks]
