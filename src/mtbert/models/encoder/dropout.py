"""Dropout whose masks are cut from random bytes on a CPU, where drawing them takes up to a third of a training step.

A CPU's generator runs on one core and draws 64 bits at a time. PyTorch spends a draw on each number that may be
dropped; here one serves eight. A byte's probability is a multiple of 1/256: 0.1 becomes 26/256, and what is kept is
scaled by that, too, so that means stay. Elsewhere, and below 1/64, where bytes would be too coarse, PyTorch's own
dropout is used.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BYTE = 256
LEAST = 4 / BYTE


def dropout(values: Tensor, dropout_p: float) -> Tensor:
    """Set each value to 0 with probability `dropout_p`, and scale the others so that the mean stays."""
    dropped = round(dropout_p * BYTE)
    if values.device.type != "cpu" or dropout_p < LEAST or dropped == BYTE:
        return F.dropout(values, dropout_p)
    draws = torch.randint(-(2**63), 2**63 - 1, (math.ceil(values.numel() / 8),))
    random_bytes = draws.view(torch.uint8)[: values.numel()].view(values.shape)
    is_kept = random_bytes.ge_(dropped)  # as bytes, since booleans convert slowly
    return values * is_kept.to(values.dtype).mul_(BYTE / (BYTE - dropped))


class Dropout(nn.Dropout):
    """`dropout` in training, nothing in evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        """Return a tensor of the same shape, with some values set to 0."""
        return dropout(input, self.p) if self.training and self.p else input
