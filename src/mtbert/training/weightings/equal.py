"""Equal: every loss counts as it is.

Formula: l_t' = l_t.

Source: the usual multi-task objective.
"""

from collections.abc import Mapping

from torch import Tensor

from mtbert.training.weightings.base import Mean, Weighting


class Equal(Weighting):
    """Leaves the losses as they are."""

    def forward(self, losses: Mapping[str, Tensor], mean: Mean) -> dict[str, Tensor]:
        """Return the losses unchanged."""
        return dict(losses)
