"""What a weighting is."""

from collections.abc import Sequence

from torch import Tensor, nn

from mtbert.settings import NoOptions


class Weighting(nn.Module):
    """What a phase makes of each task's loss; its parameters are trained with the model's.

    Subclasses take (settings, tasks): the tasks of the phase.
    """

    def __init__(self, settings: NoOptions, tasks: Sequence[str]) -> None:
        super().__init__()

    def forward(self, task: str, loss: Tensor) -> Tensor:
        """The loss that is trained on, a scalar; `loss` holds the objectives' terms too."""
        raise NotImplementedError

    def values(self) -> dict[str, float]:
        """What the history should tell of it, such as a learnt weight of each task."""
        return {}
