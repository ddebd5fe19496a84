"""Measure an update over all processes, check that it is finite, and clip its gradient."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.errors import TrainingError
from mtbert.training import processes
from mtbert.training.losses import Loss
from mtbert.training.phases import Phase


@dataclass(frozen=True)
class Update:
    """The numbers of an update, as means over all processes.

    Attributes:
        losses: the losses that are trained on, not weighted, by what the sampler drew.
        terms: their summands, by name; a task's own loss under the name of what the sampler drew.
        examples: number of examples of all processes, by what the sampler drew.
        norm: length of the gradient.
        gradient: the same length on this process, as a tensor.
    """

    losses: dict[str, float]
    terms: dict[str, float]
    examples: dict[str, int]
    norm: float
    gradient: Tensor


def measure(accelerator: Accelerator, phase: Phase, batches: Mapping[str, Batch], losses: Mapping[str, Loss]) -> Update:
    """Measure an update whose gradient is in the parameters; `batches` and `losses` are those of this process."""
    gradient = torch.nn.utils.get_total_norm([p.grad for p in phase.parameters if p.grad is not None])
    here = {("norm", ""): gradient}
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
        gradient=gradient,
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
        torch.nn.utils.clip_grads_with_norm_(phase.parameters, phase.settings.clip, update.gradient)
