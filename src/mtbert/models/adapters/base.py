"""What an adapter is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from mtbert.models.by_task import ModulesByTask
from mtbert.models.encoder.slot import PLAIN, LinearName, Slot


@dataclass(frozen=True)
class Shape:
    """The sizes of the encoder that an adapter is built for, and the spread of fresh weights.

    Attributes:
        width: the hidden size.
        layers: number of layers.
        inner: the width between the two feed-forward maps.
        initializer_range: standard deviation of fresh weights.
        gated: whether the map `intermediate` makes as many gates, too.
    """

    width: int
    layers: int
    inner: int
    initializer_range: float = 0.02
    gated: bool = False

    def linear(self, name: LinearName) -> tuple[int, int]:
        """Return the numbers of inputs and outputs of one of a layer's linear maps."""
        inputs = self.inner if name == "output" else self.width
        if name == "intermediate":
            return inputs, 2 * self.inner if self.gated else self.inner
        return inputs, self.width


class Adapter(nn.Module):
    """Changes the encoder's layers for a task. All its parameters are its own.

    Subclasses take (settings, shape, tasks).
    """

    def __init__(self, settings: Any, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__()

    @classmethod
    def check(cls, settings: Any, layers: int) -> None:
        """Raise SettingsError if an encoder of so many layers cannot have it; before anything is trained."""

    def slot(self, task: str, layer: int) -> Slot:
        """Return what the adapter does in layer `layer` (0, 1, ...) for `task`; here, nothing."""
        return PLAIN

    def init_from_encoder(self, layers: Sequence[Mapping[LinearName, nn.Linear]]) -> None:
        """Read the linear maps of every layer once before training, for weights that start from theirs."""


class InLayer(nn.Module, Slot):
    """A module that does an adapter's work in one layer. Subclasses take (settings, shape)."""


class InEveryLayer(Adapter):
    """An adapter with one module in each layer: one set of modules for all tasks, or with `per_task` one for each.

    Attributes:
        in_layer: the class of the modules, which subclasses name.
    """

    in_layer: type[InLayer]

    def __init__(self, settings: Any, shape: Shape, tasks: Sequence[str]) -> None:
        super().__init__(settings, shape, tasks)
        self.set_of = {task: task if settings.per_task else "shared" for task in tasks}
        self.sets = ModulesByTask()
        for name in dict.fromkeys(self.set_of.values()):
            self.sets[name] = nn.ModuleList(self.in_layer(settings, shape) for _ in range(shape.layers))

    def slot(self, task: str, layer: int) -> InLayer:
        """Return the layer's module in the task's set."""
        return self.sets[self.set_of[task]][layer]  # type: ignore[index, return-value]
