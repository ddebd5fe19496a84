"""A phase that is ready to run: `assembly` hands in all its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mtbert.data.batches import Examples, Stream
from mtbert.learning.gradients.base import GradientRule
from mtbert.learning.objectives.base import Objective
from mtbert.learning.samplers.base import Sampler
from mtbert.learning.schedules.base import Schedule
from mtbert.learning.states import Stateful
from mtbert.learning.weightings.base import Again, Weighting
from mtbert.variants.settings import PhaseSettings


@dataclass
class Phase(Stateful):
    """What one phase of a run trains, on what data, and how.

    Attributes:
        number: counts from 1.
        parameters: all that it trains: of the model, the objectives and the weighting.
        adapters, heads: those of them that belong to adapters, and to heads.
        optimiser: over the parameters.
        lr_scheduler: the schedule of the optimiser's learning rates.
    """

    changes = ("objectives", "optimiser", "lr_scheduler", "schedule", "weighting", "rule")

    number: int
    settings: PhaseSettings
    parameters: Sequence[nn.Parameter]
    adapters: Sequence[nn.Parameter]
    heads: Sequence[nn.Parameter]
    streams: dict[str, Stream]
    sampler: Sampler
    objectives: dict[str, Objective]
    weighting: Weighting
    rule: GradientRule
    schedule: Schedule

    def __post_init__(self) -> None:
        """Make the optimiser, and attach the schedule to it."""
        self.optimiser = adamw(self.settings, self.parameters, self.adapters, self.heads, self.weighting)
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda n: self.schedule.factor(n, self.steps)
        )
        self._place_rates()

    @property
    def steps(self) -> int:
        """Number of steps of the whole phase."""
        return self.settings.epochs * self.sampler.steps

    def after_step(self, losses: Mapping[str, Tensor], again: Again) -> None:
        """Call the hooks of objectives, weighting and gradient rule after an update, as `Weighting` describes them."""
        for objective in self.objectives.values():
            objective.after_step((self.lr_scheduler.last_epoch + 1) / self.steps)
        self.weighting.after_update(losses, again)
        self.rule.after_update(losses)

    def state(self) -> dict[str, Any]:
        """Return all that changes in training but the model's weights."""
        return super().state() | {"streams": {task: stream.drawn for task, stream in self.streams.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        super().restore(state)
        self._place_rates()
        for task, drawn in state["streams"].items():
            self.streams[task].drawn = drawn

    @property
    def rate(self) -> float:
        """The learning rate that was set last, of the first group; not read from there, which would wait for a GPU."""
        return float(self.lr_scheduler.base_lrs[0]) * self.schedule.factor(self.lr_scheduler.last_epoch, self.steps)

    def _place_rates(self) -> None:
        """Put the learning rates where the weights are: a step that a GPU repeats reads them there."""
        for group in self.optimiser.param_groups:
            device = group["params"][0].device
            if device.type == "cuda":
                group["lr"] = torch.as_tensor(group["lr"], dtype=torch.float32, device=device)


def trained_on(phase: PhaseSettings, examples: Examples) -> Examples:
    """Return those of a corpus's training examples that a phase trains on."""
    if phase.spared:
        examples, _ = examples.split(phase.spared)
    return examples.drawn(phase.rows)


def trained_on_last(phases: Sequence[PhaseSettings], task: str, examples: Examples) -> Examples:
    """Return those of a task's training examples that its last phase trains on; all where it is in no phase."""
    of_task = [phase for phase in phases if task in phase.tasks]
    return trained_on(of_task[-1], examples) if of_task else examples


def adamw(
    settings: PhaseSettings,
    parameters: Sequence[nn.Parameter],
    adapters: Sequence[nn.Parameter],
    heads: Sequence[nn.Parameter],
    weighting: Weighting,
) -> torch.optim.AdamW:
    """Return AdamW as BERT's own code uses it; a weighting and, where set, adapters and heads have rates of their own.

    Matrices have weight decay; biases and LayerNorms, which are vectors, and weightings have none. Source: Devlin et
    al. (2019), optimization.py, which excludes LayerNorms and biases by name. Empty groups are left out.
    """
    rate, decay = settings.learning_rate, settings.weight_decay
    with_own_rate = [(adapters, settings.adapter_rate), (heads, settings.head_rate)]
    with_own_rate = [(group, own_rate) for group, own_rate in with_own_rate if own_rate]
    excluded = {id(parameter) for group, _ in with_own_rate for parameter in group}
    excluded |= {id(parameter) for parameter in weighting.parameters()}
    rest = [parameter for parameter in parameters if id(parameter) not in excluded]
    groups: list[dict[str, Any]] = []
    for group, group_rate in [(rest, rate), *with_own_rate]:
        groups.append({"params": [p for p in group if p.ndim > 1], "lr": group_rate, "weight_decay": decay})
        groups.append({"params": [p for p in group if p.ndim <= 1], "lr": group_rate, "weight_decay": 0.0})
    groups.append({"params": [*weighting.parameters()], "lr": weighting.learning_rate or rate, "weight_decay": 0.0})
    filled = [group for group in groups if group["params"]]
    first, second = settings.betas
    on_gpu = any(parameter.is_cuda for parameter in parameters)
    return torch.optim.AdamW(filled, lr=rate, betas=(first, second), eps=settings.eps, fused=True, capturable=on_gpu)
