"""LoRA with shared and task-specific parts (MTL-LoRA).

What it does: tasks share one projection into the narrow space and several projections out of it. Each task has a
square matrix of its own within that space, and its own mixture of the projections out.

Formula: y = W x + b + s (sum_i p_ti B_i) T_t A x with p_t = softmax(w_t / temperature) and s = alpha / r.

Source: Yang et al. (2024), "MTL-LoRA: Low-Rank Adaptation for Multi-Task Learning", the equation of a task's output.
The scale s, the start (B_i zero, T_t the identity, A and w_t uniform as for a linear map), three projections out and
the temperature 0.1 are those of the authors' code. Theirs can keep T_t diagonal, too; here it is full. Query and
value as targets are ours, to compare with `lora`; theirs are all four maps of the attention.

Symbols: x the map's input; W, b its own weights; t the task; A `down` (r x in); T_t `inner` (r x r), Lambda_t in the
paper; B_i `ups` (out x r each), i = 1 ... `ways`; w_t `choices`; r `rank`.

Shapes: one of all these for each target and layer; `inner` and `choices` also for each task. Weights of a target and
layer: r (in + ways out) + tasks (r^2 + ways).
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from mtbert.models.adapters.base import Adapter, Shape
from mtbert.models.adapters.factors import FactorSettings
from mtbert.models.by_task import ParametersByTask
from mtbert.models.encoder.dropout import Dropout
from mtbert.models.encoder.slot import LinearName, Slot


class Settings(FactorSettings):
    """Section `mtl_lora`.

    Attributes:
        alpha: the change is scaled by alpha / rank.
        ways: how many B_i there are.
        temperature: of the mixture: near 0 a task uses one projection out, far above 1 all of them alike.
    """

    alpha: float = Field(default=16.0, gt=0)
    ways: int = Field(default=3, ge=1, le=256)
    temperature: float = Field(default=0.1, gt=0, le=100)


class Mixture(nn.Module):
    """The change of one linear map."""

    def __init__(self, inputs: int, outputs: int, settings: Settings, tasks: Sequence[str]) -> None:
        super().__init__()
        rank, ways = settings.rank, settings.ways
        self.scale, self.temperature = settings.alpha / rank, settings.temperature
        self.dropout = Dropout(settings.dropout)
        self.down = nn.Linear(inputs, rank, bias=False)
        self.ups = nn.Parameter(torch.zeros(ways, outputs, rank))
        self.inner = ParametersByTask({task: torch.eye(rank) for task in tasks})
        # If they started alike, all projections out would get the same gradient and stay the same.
        self.choices = ParametersByTask({task: torch.empty(ways).uniform_(-1, 1) / ways**0.5 for task in tasks})

    def up(self, task: str) -> Tensor:
        """s (sum_i p_ti B_i) T_t, [out, rank]."""
        shares = (self.choices[task] / self.temperature).softmax(dim=0)
        return self.scale * torch.tensordot(shares, self.ups, dims=1) @ self.inner[task]

    def forward(self, task: str, inputs: Tensor) -> Tensor:
        """[rows, tokens, in] -> [rows, tokens, out]."""
        return F.linear(self.down(self.dropout(inputs)), self.up(task))


class ForTask(Slot):
    """A layer's mixtures, by linear map, for one task."""

    def __init__(self, mixtures: nn.ModuleDict, task: str) -> None:
        self.mixtures, self.task = mixtures, task

    def linear(self, name: LinearName, dense: nn.Linear, inputs: Tensor) -> Tensor:
        """W x + b and the task's change for a target."""
        if name not in self.mixtures:
            return dense(inputs)
        return dense(inputs) + self.mixtures[name](self.task, inputs)


class MixedAdaptation(Adapter):
    """A `Mixture` for each target of each layer."""

    def __init__(self, settings: Settings, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__(settings, shape, tasks)
        self.layers = nn.ModuleList(
            nn.ModuleDict({name: Mixture(*shape.linear(name), settings, tasks) for name in settings.targets})
            for _ in range(shape.layers)
        )

    def slot(self, task: str, layer: int) -> ForTask:
        """The layer's mixtures as the task uses them."""
        return ForTask(self.layers[layer], task)  # type: ignore[arg-type]
