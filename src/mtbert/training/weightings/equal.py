"""Equal: every loss counts as it is.

Formula: l_t' = l_t.

Source: the usual multi-task objective.
"""

from mtbert.training.weightings.base import Weighting


class Equal(Weighting):
    """Leaves the losses as they are, which is what the base class does."""
