"""What an adapter is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from mtbert.encoder.slot import Linear, Slot


@dataclass(frozen=True)
class Shape:
    """What an adapter knows of the encoder: its sizes, and the spread of fresh weights.

    Attributes:
        width: the hidden size.
        layers: how many.
        inner: the width between the two feed-forward maps.
        initializer_range: standard deviation.
    """

    width: int
    layers: int
    inner: int
    initializer_range: float = 0.02

    def linear(self, name: Linear) -> tuple[int, int]:
        """Inputs and outputs of one of a layer's linear maps."""
        return (self.width if name != "output" else self.inner, self.inner if name == "intermediate" else self.width)


class Adapter(nn.Module):
    """Changes the encoder's layers for a task; its parameters are all its own.

    Subclasses take (settings, shape, tasks).
    """

    def __init__(self, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__()
        self.shape = shape
        self.tasks = tuple(tasks)

    def slot(self, task: str, layer: int) -> Slot:
        """What it does in layer `layer` (0, 1, ...) for `task`; `PLAIN` for nothing."""
        raise NotImplementedError

    def meet(self, layers: Sequence[Mapping[Linear, nn.Linear]]) -> None:
        """See the linear maps of every layer once, before training: for what starts from their weights."""


class Mergeable(Slot):
    """A slot that does nothing that other weights of the layer's linear maps would not do: see merging.py."""

    def merged(self, name: Linear, dense: nn.Linear) -> tuple[Tensor, Tensor]:
        """Weight [out, in] and bias [out] with which `dense` alone gives what `linear` gives in evaluation."""
        raise NotImplementedError


class InLayer(nn.Module, Slot):
    """A module that does an adapter's work in one layer."""

    def meet(self, linears: Mapping[Linear, nn.Linear]) -> None:
        """See the layer's linear maps once, before training."""


class InEveryLayer(Adapter):
    """An adapter of one module a layer: one set of them for all tasks, or one set for each task.

    Args:
        per_task: whether each task has a set of its own.
        build: makes the module of a layer, given its number.
    """

    def __init__(self, shape: Shape, tasks: Sequence[str], per_task: bool, build: Callable[[int], InLayer]) -> None:
        super().__init__(shape, tasks)
        self.set_of = {task: task if per_task else "shared" for task in tasks}
        names = dict.fromkeys(self.set_of.values())
        self.sets = nn.ModuleDict({name: nn.ModuleList(map(build, range(shape.layers))) for name in names})

    def meet(self, layers: Sequence[Mapping[Linear, nn.Linear]]) -> None:
        """Each set sees every layer."""
        for modules in self.sets.values():
            for module, linears in zip(modules, layers, strict=True):  # type: ignore[call-overload]
                module.meet(linears)

    def slot(self, task: str, layer: int) -> InLayer:
        """The module of the task's set."""
        return self.sets[self.set_of[task]][layer]  # type: ignore[index, return-value]
