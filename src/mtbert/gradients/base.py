"""What a gradient rule is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from torch import Tensor, nn


class GradientRule(Protocol):
    """Turns the losses of a step into the gradients that the optimiser uses."""

    def __call__(
        self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter], backward: Callable[[Tensor], None]
    ) -> None:
        """Leave the step's gradient in each parameter's `.grad`.

        Args:
            losses: one scalar a task of the step.
            parameters: what is trained.
            backward: back-propagates a scalar (scaled and spread over processes as the run needs), adding to `.grad`.
        """
        ...
