"""What changes in training, for checkpoints: each part names its attributes, whose kinds decide how they are kept."""

from collections.abc import Mapping
from typing import Any, ClassVar


class Stateful:
    """A part of a training that goes on from a checkpoint.

    Attributes:
        changes: names of its attributes that change in training: plain values, tensors, generators, optimisers,
            modules, further such parts, or dicts of these.
        between: names of those that no step reads, since they change and are read between two steps.
    """

    changes: ClassVar[tuple[str, ...]] = ()
    between: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """Return these attributes as tensors and plain values."""
        return {name: _state(getattr(self, name)) for name in self.changes}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        for name in self.changes:
            setattr(self, name, _restored(getattr(self, name), state[name]))


def _state(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _state(item) for key, item in value.items()}
    if isinstance(value, Stateful):
        return value.state()
    if hasattr(value, "get_state"):  # a generator
        return value.get_state()
    return value.state_dict() if hasattr(value, "state_dict") else value


def _restored(value: Any, state: Any) -> Any:
    """Return the value in that state: in place where others may hold it, too."""
    if isinstance(value, dict):
        return {key: _restored(value.get(key), item) for key, item in state.items()}
    if isinstance(value, Stateful):
        value.restore(state)
    elif hasattr(value, "set_state"):
        value.set_state(state)
    elif hasattr(value, "load_state_dict"):
        value.load_state_dict(state)
    elif hasattr(value, "copy_"):
        value.data.copy_(state)
    else:
        return state
    return value


def device_types(value: Any) -> set[str]:
    """Return the types of the devices that hold what steps read and training changes; plain values: the processor's."""
    if isinstance(value, Stateful):
        return device_types({name: getattr(value, name) for name in value.changes if name not in value.between})
    if isinstance(value, dict):
        return set().union(*(device_types(item) for item in value.values()))
    if hasattr(value, "parameters"):  # a module
        return {parameter.device.type for parameter in value.parameters()}
    return {value.device.type} if hasattr(value, "device") else {"cpu"}
