"""The loss of a batch: the task's own, and the terms that the phase's objectives add.

Where a batch does not fit into memory, the same loss is computed in parts. Each is back-propagated by itself, and the
result is a loss whose gradient is known already. Weightings and gradient rules see no difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.models.multitask import MultitaskModel
from mtbert.training.phases import Phase


@dataclass
class Loss:
    """A batch's loss.

    Attributes:
        total: what is trained on, with its graph.
        terms: its summands, without a graph; the task's own loss under the name of what the sampler drew.
    """

    total: Tensor
    terms: dict[str, Tensor]


def of_batch(model: MultitaskModel, phase: Phase, name: str, batch: Batch) -> Loss:
    """Compute the loss of a whole batch."""
    outputs = model(batch)
    own = model.loss(batch, outputs)
    terms = {f"{kind}/{name}": objective.term(batch, outputs) for kind, objective in phase.objectives.items()}
    total = own if phase.settings.supervised else 0 * own
    for term in terms.values():
        total = total + term
    return Loss(total, {term_name: term.detach() for term_name, term in {name: own, **terms}.items()})


def of_micro_batches(model: MultitaskModel, phase: Phase, name: str, batch: Batch, count: int) -> Loss:
    """Compute the same loss in `count` parts of the batch, only one of which is in memory at a time."""
    total, terms = torch.zeros(()), {}
    gradients: list[Tensor | None] = [None] * len(phase.parameters)
    for part in batch.micro_batches(count):
        share = len(part) / len(batch)
        loss = of_batch(model, phase, name, part)
        of_part = torch.autograd.grad(loss.total * share, phase.parameters, allow_unused=True)
        gradients = [_sum(old, new) for old, new in zip(gradients, of_part, strict=True)]
        total = total.to(loss.total.device) + loss.total.detach() * share
        terms = {term: terms.get(term, 0) + value * share for term, value in loss.terms.items()}
    return Loss(_Known.apply(total, gradients, *phase.parameters), terms)


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Add two gradients; None stands for one that is not there."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def can_be_split(model: MultitaskModel, phase: Phase, batch: Batch) -> bool:
    """Return whether the loss is a mean over examples, so that parts give the same as the whole."""
    parts: Sequence[Any] = [model.head(batch.task), *phase.objectives.values()]
    return all(part.by_example for part in parts)


class _Known(torch.autograd.Function):
    """A loss whose gradient in each parameter is known already."""

    @staticmethod
    def forward(ctx: Any, loss: Tensor, gradients: Sequence[Tensor | None], *parameters: nn.Parameter) -> Tensor:
        """Return the loss."""
        ctx.gradients = gradients
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        """Return the known gradients, scaled."""
        return (None, None, *(None if known is None else outer[0] * known for known in ctx.gradients))
