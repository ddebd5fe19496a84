"""What a weighting is."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn


class Weighting(nn.Module):
    """What a phase makes of each task's loss; its parameters are trained with the model's.

    Subclasses take (settings, tasks): the tasks of the phase.
    """

    def __init__(self, settings: Any, tasks: Sequence[str]) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, task: str, loss: Tensor) -> Tensor:
        """The loss that is trained on, a scalar; `loss` holds the objectives' terms too."""
        raise NotImplementedError

    def learning_rate(self, of_model: float) -> float:
        """At which its parameters are trained, given the model's; both follow the phase's schedule."""
        return of_model

    def values(self) -> dict[str, float]:
        """What the history should tell of it, such as a learnt weight of each task."""
        return {}
