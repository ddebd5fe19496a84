"""What a gradient rule is."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from mtbert.training.states import Stateful

Backward = Callable[[Tensor], None]


class GradientRule(Stateful):
    """Turns the losses of a step into the gradients that the optimiser uses. Built from (settings, generator).

    Attributes:
        several_tasks: whether it needs several tasks in a step.
    """

    several_tasks = False
    changes = ("generator",)

    def __init__(self, settings: Any, generator: torch.Generator) -> None:
        self.settings = settings
        self.generator = generator

    def __call__(self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter], backward: Backward) -> None:
        """Leave the step's gradient in each parameter's `.grad`; here, that of the sum of the losses.

        Args:
            losses: a scalar for each batch of the step.
            parameters: what is trained.
            backward: back-propagates a scalar (scaled and spread over processes as the run needs), adding to `.grad`.
        """
        backward(reduce(torch.add, losses.values()))

    def after_update(self, losses: Mapping[str, float]) -> None:
        """Called after every update with the losses of its step, not weighted, as means over all processes."""
