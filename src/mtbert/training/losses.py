"""The loss of a batch: the task's own, and the terms that the phase's objectives add; and the numbers of an update."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.errors import TrainingError
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


def of_batches(model: MultitaskModel, phase: Phase, batches: Mapping[str, Batch]) -> dict[str, Loss]:
    """Compute the loss of each batch of a step."""
    return {name: of_batch(model, phase, name, batch) for name, batch in batches.items()}


def of_batch(model: MultitaskModel, phase: Phase, name: str, batch: Batch) -> Loss:
    """Compute the loss of a batch."""
    outputs = model(batch)
    own = model.loss(batch, outputs)
    terms = {f"{kind}/{name}": objective.term(batch, outputs) for kind, objective in phase.objectives.items()}
    total = own if phase.settings.supervised else 0 * own
    for term in terms.values():
        total = total + term
    return Loss(total, {term_name: term.detach() for term_name, term in {name: own, **terms}.items()})


@dataclass(frozen=True)
class Update:
    """The numbers of an update.

    Attributes:
        losses: the losses that are trained on, not weighted, by what the sampler drew.
        terms: their summands, by name; a task's own loss under the name of what the sampler drew.
        norm: length of the gradient.
    """

    losses: dict[str, float]
    terms: dict[str, float]
    norm: float


def measure(phase: Phase, losses: Mapping[str, Loss]) -> Update:
    """Measure an update whose gradient is in the parameters; the numbers move to the CPU in one transfer."""
    norm = torch.nn.utils.get_total_norm([p.grad for p in phase.parameters if p.grad is not None])
    here = {("norm", ""): norm}
    for name, loss in losses.items():
        here["loss", name] = loss.total
        here |= {("term", term): value for term, value in loss.terms.items()}
    numbers = dict(zip(here, torch.stack([value.detach().float() for value in here.values()]).tolist(), strict=True))
    return Update(
        losses={name: numbers["loss", name] for name in losses},
        terms={name: value for (kind, name), value in numbers.items() if kind == "term"},
        norm=numbers["norm", ""],
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
