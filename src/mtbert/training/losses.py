"""The loss of a batch: the task's own, and the terms that the phase's objectives add; and the numbers of an update.

Where a batch does not fit into memory, the same loss is computed in parts. Each is back-propagated by itself, and the
result is a loss whose gradient is known already. Weightings and gradient rules see no difference.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.errors import TrainingError
from mtbert.models.multitask import MultitaskModel
from mtbert.training import processes
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
    if count == 1:
        return of_batch(model, phase, name, batch)
    total, terms = torch.zeros(()), {}
    gradients: list[Tensor | None] = [None] * len(phase.parameters)
    for part in batch.micro_batches(count):
        share = len(part) / len(batch)
        loss = of_batch(model, phase, name, part)
        of_part = torch.autograd.grad(loss.total * share, phase.parameters, allow_unused=True)
        for number, new in enumerate(of_part):
            old = gradients[number]
            gradients[number] = old if new is None else new if old is None else old + new
        total = total.to(loss.total.device) + loss.total.detach() * share
        terms = {term: terms.get(term, 0) + value * share for term, value in loss.terms.items()}
    return Loss(_Known.apply(total, gradients, *phase.parameters), terms)


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


@dataclass(frozen=True)
class Update:
    """The numbers of an update, as means over all processes.

    Attributes:
        losses: the losses that are trained on, not weighted, by what the sampler drew.
        terms: their summands, by name; a task's own loss under the name of what the sampler drew.
        examples: number of examples of all processes, by what the sampler drew.
        norm: length of the gradient.
    """

    losses: dict[str, float]
    terms: dict[str, float]
    examples: dict[str, int]
    norm: float


def measure(accelerator: Accelerator, phase: Phase, batches: Mapping[str, Batch], losses: Mapping[str, Loss]) -> Update:
    """Measure an update whose gradient is in the parameters; `batches` and `losses` are those of this process."""
    norm = torch.nn.utils.get_total_norm([p.grad for p in phase.parameters if p.grad is not None])
    here = {("norm", ""): norm}
    for name, loss in losses.items():
        weight = batches[name].weight
        here["loss", name] = loss.total * weight
        here |= {("term", term): value * weight for term, value in loss.terms.items()}
    mean = processes.means(accelerator, here)
    return Update(
        losses={name: mean["loss", name] for name in losses},
        terms={name: value for (kind, name), value in mean.items() if kind == "term"},
        examples={name: round(len(b) * accelerator.num_processes / b.weight) for name, b in batches.items()},
        norm=mean["norm", ""],
    )


def check_finite(update: Update, step: int, batches: Mapping[str, Batch]) -> None:
    """Raise TrainingError, with the batches' examples, where a loss or the gradient is not finite."""
    faulty = [f"loss {name}" for name, value in update.terms.items() if not math.isfinite(value)]
    if not faulty and math.isfinite(update.norm):
        return
    where = "; ".join(f"{batch.task}: {', '.join(batch.ids)}" for batch in batches.values())
    raise TrainingError(
        f"the {', '.join(faulty) or 'gradient'} of step {step} is not finite, so the weights were left as they were; "
        f"the batch was {where}. A lower training.learning_rate, training.clip: 1.0 or run.precision: fp32 may help"
    )


def clip(phase: Phase, update: Update) -> None:
    """Shorten the gradient in the parameters to `training.clip`, where that is set and it is longer."""
    if phase.settings.clip and update.norm > phase.settings.clip:
        torch.nn.utils.clip_grads_with_norm_(phase.parameters, phase.settings.clip, torch.tensor(update.norm))
