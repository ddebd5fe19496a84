"""What a gradient rule is."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from mtbert.learning.states import Stateful


class GradientRule(Stateful):
    """Turns the losses of a step into the gradients that the optimiser uses. Built from (settings, generator).

    Attributes:
        several_tasks: whether it needs several tasks in a step.
    """

    several_tasks = False

    def __init__(self, settings: Any, generator: torch.Generator) -> None:
        self.settings = settings
        self.generator = generator

    def __call__(self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter]) -> None:
        """Leave the step's gradient in the `.grad` of each parameter that is trained; here, that of the losses' sum.

        Losses are scalars, one for each batch of the step.
        """
        reduce(torch.add, losses.values()).backward()

    def after_update(self, losses: Mapping[str, Tensor]) -> None:
        """Called after every update with the losses of its step, not weighted: scalars on the device."""
