"""The mean of the members' weights.

What it does: every weight of the encoder is the mean of the members' weights.

Formula: theta = theta_0 + 1/n sum_t tau_t, which is 1/n sum_t theta_t.

Source: Wortsman et al. (2022), "Model soups", section 2, the uniform soup; there, of models of one task.

Symbols: tau_t `vectors`.
"""

from collections.abc import Sequence

from torch import Tensor

from mtbert.merging.base import Merge


class Mean(Merge):
    """The uniform soup."""

    def direction(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean."""
        return sum(vectors[1:], vectors[0]) / len(vectors)
