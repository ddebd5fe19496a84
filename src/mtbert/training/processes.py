"""One run on several processes: each trains on its share of every batch, and all make the same update.

Gradients are averaged once they are computed, not by torch's DistributedDataParallel while they are: gradient rules
back-propagate a step's tasks one by one, and objectives pass batches through the model in other ways than its
`forward`, which that wrapper cannot follow. A parameter that no process has used in a step has no gradient on any.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from mtbert.data.batches import Share


def averaged(accelerator: Accelerator, parameters: Sequence[nn.Parameter]) -> Callable[[Tensor], None]:
    """A back-propagation that leaves the mean over processes in each parameter's `.grad`."""

    def backward(loss: Tensor) -> None:
        accelerator.backward(loss)
        if accelerator.num_processes == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        mean: Any = accelerator.reduce(torch.cat([gradient.flatten() for gradient in gradients]), reduction="mean")
        parts = mean.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    return backward


def mean(accelerator: Accelerator, value: Tensor) -> float:
    """A scalar's mean over processes."""
    reduced: Any = accelerator.reduce(value.detach(), reduction="mean")
    return reduced.item()


def purpose() -> tuple[int, ...]:
    """What to add to a seed's purpose where each process has to draw numbers of its own; nothing on the first."""
    rank = Share.here().rank
    return (rank,) if rank else ()
