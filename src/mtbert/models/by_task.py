"""Modules and parameters by the name of a task, which may be any: torch's dictionaries refuse `type` and `float`."""

from collections.abc import Mapping

from torch import Tensor, nn


class ModulesByTask(nn.ModuleDict):
    """A ModuleDict with any names."""

    def __setitem__(self, key: str, module: nn.Module) -> None:
        self._modules[key] = module  # torch's own way asks whether the dictionary has an attribute of that name


class ParametersByTask(nn.Module):
    """A parameter for each task."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        super().__init__()
        for task, value in values.items():
            self._parameters[task] = nn.Parameter(value)

    def items(self) -> list[tuple[str, nn.Parameter]]:
        """Return each task with its parameter."""
        return [(task, self[task]) for task in self._parameters]

    def __getitem__(self, task: str) -> nn.Parameter:
        parameter = self._parameters[task]
        assert parameter is not None
        return parameter
