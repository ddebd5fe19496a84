"""Equal: every loss counts as it is.

Formula: l_t' = l_t.

Source: the usual multi-task objective.
"""

from torch import Tensor

from mtbert.weightings.base import Weighting


class Equal(Weighting):
    """The loss itself."""

    def forward(self, task: str, loss: Tensor) -> Tensor:
        """As it came."""
        return loss
