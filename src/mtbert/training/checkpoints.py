"""The checkpoint of a training: all that it needs to resume, in one file that is either whole or absent.

It is a safetensors file: its tensors, and the rest as JSON in its header. Nothing in it is a pickle.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from mtbert import files
from mtbert.errors import TrainingError


@dataclass
class Checkpoint:
    """The checkpoint of one run.

    Attributes:
        directory: holds nothing else.
        identity: digest of what the run depends on; a checkpoint of another identity is not used.
    """

    directory: Path
    identity: str

    @property
    def file(self) -> Path:
        """Where it lies."""
        return self.directory / "checkpoint.safetensors"

    def save(self, state: dict[str, Any]) -> None:
        """Replace the last state: nested dicts and lists of tensors and plain values.

        TrainingError where the new one cannot be written, and the last one stays.
        """
        tensors: dict[str, Tensor] = {}
        header = {"identity": self.identity, "state": json.dumps(_without_tensors(state, tensors))}
        try:
            with files.new_file(self.file) as partial:
                save_file(tensors, partial, header)
        except (OSError, SafetensorError) as error:
            raise TrainingError(
                f"{self.file} could not be written ({error}); the checkpoint before it is intact, and the same command "
                "goes on from there once there is room"
            ) from error

    def load(self) -> dict[str, Any] | None:
        """Return the state; None where there is none of this run, with a warning where another run's is there."""
        if not self.file.is_file():
            return None
        try:
            with safe_open(self.file, "pt") as content:
                header = content.metadata()
                tensors = {name: content.get_tensor(name) for name in content.offset_keys()}
        except SafetensorError as error:
            return self._unused(f"is damaged ({error})")
        if header["identity"] != self.identity:
            return self._unused("is of other settings, data or code, or of another device, precision or PyTorch")
        return _with_tensors(json.loads(header["state"]), tensors)

    def _unused(self, fault: str) -> None:
        print(f"warning: checkpoint {self.file} {fault}: it is not used", file=sys.stderr)

    def clear(self) -> None:
        """Remove it."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _without_tensors(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return the value in a form that JSON can hold; put its tensors into `tensors`, by number."""
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().contiguous()
        return {"tensor": name}
    if isinstance(value, Mapping):  # as pairs, since keys need not be strings
        return {"pairs": [[key, _without_tensors(item, tensors)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_without_tensors(item, tensors) for item in value]
    return value


def _with_tensors(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_with_tensors(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]]
    return {key: _with_tensors(item, tensors) for key, item in value["pairs"]}


def random_state(device: torch.device) -> dict[str, Any]:
    """Return the states of PyTorch's own generators, which dropout draws from."""
    return {kind: module.get_rng_state() for kind, module in _with_generators(device).items()}


def set_random_state(state: dict[str, Any], device: torch.device) -> None:
    """Set PyTorch's generators to the states that `random_state` returned."""
    for kind, module in _with_generators(device).items():
        if kind in state:
            module.set_rng_state(state[kind])


def _with_generators(device: torch.device) -> dict[str, Any]:
    return {"cpu": torch} | ({} if device.type == "cpu" else {device.type: torch.get_device_module(device)})
