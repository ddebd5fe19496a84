"""Task arithmetic.

What it does: adds up what the members have learnt, all of it by one scale.

Formula: theta = theta_0 + lambda sum_t tau_t, tau_t = theta_t - theta_0.

Source: Ilharco et al. (2023), "Editing Models with Task Arithmetic", section 2 (learning via addition).

Symbols: tau_t `vectors`; lambda one of `scales`.
"""

from collections.abc import Sequence

from torch import Tensor

from mtbert.merging.base import Merge


class TaskArithmetic(Merge):
    """Addition of task vectors."""

    scales = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

    def direction(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return the sum."""
        return sum(vectors[1:], vectors[0])
