"""One run on several processes: each trains on its share of every batch, and all make the same update.

Gradients are averaged after they are computed, not during it by torch's DistributedDataParallel. That wrapper supports
neither gradient rules, which back-propagate a step's tasks one by one, nor objectives, which call the model in other
ways than by `forward`. A parameter that no process has used in a step has no gradient on any.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn

from mtbert.data.batches import Share


def averaged(accelerator: Accelerator, parameters: Sequence[nn.Parameter]) -> Callable[[Tensor], None]:
    """Return a back-propagation that leaves the mean over processes in each parameter's `.grad`."""

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


def means(accelerator: Accelerator, values: Mapping[Any, Tensor]) -> dict[Any, float]:
    """Return each scalar's mean over processes, moved to the CPU in one transfer."""
    stacked = torch.stack([value.detach().float() for value in values.values()])
    reduced: Any = accelerator.reduce(stacked, reduction="mean")
    return dict(zip(values, reduced.tolist(), strict=True))


def shared_by_all(values: Sequence[int]) -> list[int]:
    """Return the values that all processes have."""
    return sorted(set.intersection(*map(set, gather_object([list(values)]))))


def purpose() -> tuple[int, ...]:
    """Return what to add to a seed's purpose for numbers of each process's own; nothing on the first."""
    rank = Share.here().rank
    return (rank,) if rank else ()
