"""TIES: trim, elect sign and merge.

What it does: keeps of each member the changes that are largest, and takes the mean of those that have the sign of most.

Formula: tau^_t is tau_t with all but its SHARE of largest values 0; gamma = sgn(sum_t tau^_t);
tau = mean of those tau^_t with sgn(tau^_t) = gamma, weight by weight; theta = theta_0 + lambda tau.

Source: Yadav et al. (2023), "TIES-Merging: Resolving Interference When Merging Models", section 4.2 and algorithm 1.

Symbols: tau_t `vectors`; gamma `sign`; k, in per cent, 100 SHARE; lambda one of `scales`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mtbert.merging.base import Merge

SHARE = 0.2  # of a task vector's values, the largest ones, that stay; as in the paper


class Ties(Merge):
    """Trim, elect sign, disjoint merge."""

    scales = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

    def direction(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return the mean of the trimmed values that agree with the elected sign; 0 where there is none."""
        trimmed = torch.stack([_trimmed(vector) for vector in vectors])  # [members, weights]
        sign = trimmed.sum(dim=0).sign()
        agreeing = trimmed.sign() == sign
        return (trimmed * agreeing).sum(dim=0) / agreeing.sum(dim=0).clamp(min=1)


def _trimmed(vector: Tensor) -> Tensor:
    """Return the vector with all but its largest values, by magnitude, at 0."""
    largest = vector.abs().topk(int(SHARE * len(vector))).indices
    return torch.zeros_like(vector).index_copy(0, largest, vector[largest])
