"""What every method to merge is: a direction from the starting weights, made of task vectors, and how far to go.

A task vector is what a training has changed: the encoder's weights after it less those before it, as one vector.
"""

from collections.abc import Sequence

from torch import Tensor


class Merge:
    """The merged encoder is theta_0 + lambda d: d `direction`, and lambda the best of `scales` on rows held out.

    Attributes:
        scales: the values of lambda that are tried; where there is one, nothing is chosen.
    """

    scales: tuple[float, ...] = (1.0,)

    def direction(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return d [weights] of the members' task vectors [weights]."""
        raise NotImplementedError
