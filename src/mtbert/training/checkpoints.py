"""Checkpoints: all that a training needs to resume, in files that are either whole or not used.

A checkpoint is one safetensors file, `<step>-<SHA-256 of the file>.safetensors`: its tensors, and the rest as JSON in
its header. It is written under another name, flushed and renamed, so that a kill leaves the one before. A file that
does not have the digest in its name is not used. The last two are kept. Nothing in it is a pickle.
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

KEPT = 2
State = dict[str, Any]  # nested dicts and lists of tensors and plain values


@dataclass
class Checkpoints:
    """The checkpoints of one run in one directory.

    Attributes:
        directory: holds nothing else.
        identity: digest of what the run depends on; checkpoints of another identity are not used.
    """

    directory: Path
    identity: str

    def save(self, step: int, state: State) -> None:
        """Write the checkpoint of a step; TrainingError where it cannot be written; those before stay intact."""
        self.directory.mkdir(parents=True, exist_ok=True)
        tensors: dict[str, Tensor] = {}
        header = {"identity": self.identity, "state": json.dumps(_without_tensors(state, tensors))}
        partial = self.directory / f".{step}{files.PARTIAL}"
        try:
            save_file(tensors, partial, header)
            files.flush(partial)
            partial.replace(self.directory / f"{step:09}-{files.sha256(partial)}.safetensors")
            files.flush(self.directory)
        except (OSError, SafetensorError) as error:
            raise TrainingError(
                f"the checkpoint of step {step} could not be written to {self.directory} ({error}); those before it "
                "are intact, and the same command goes on from the last of them once there is room"
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        for old in self._files()[:-KEPT]:
            old.unlink()

    def steps(self) -> list[int]:
        """Return the steps that have a usable checkpoint; report and remove the others."""
        for unfinished in self.directory.glob(f".*{files.PARTIAL}"):
            unfinished.unlink()
        for file in self._files():
            fault = self._fault(file)
            if fault:
                print(f"warning: checkpoint {file} {fault}: it is not used", file=sys.stderr)
                file.unlink()
        return [_step(file) for file in self._files()]

    def load(self, step: int) -> State:
        """Return the state at a step that `steps` lists."""
        file = next(file for file in self._files() if _step(file) == step)  # any of several: they hold the same state
        with safe_open(file, "pt") as content:
            tensors = {name: content.get_tensor(name) for name in content.offset_keys()}
            return _with_tensors(json.loads(content.metadata()["state"]), tensors)

    def clear(self) -> None:
        """Remove all checkpoints."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _files(self) -> list[Path]:
        return sorted(self.directory.glob("*-*.safetensors"))

    def _fault(self, file: Path) -> str:
        """Return why a checkpoint cannot be used, or nothing."""
        if files.sha256(file) != file.stem.partition("-")[2]:
            return "was altered or cut off"
        with safe_open(file, "pt") as content:
            return "" if content.metadata()["identity"] == self.identity else "is of other settings, data or code"


def _step(file: Path) -> int:
    return int(file.stem.partition("-")[0])


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


def random_state(device: torch.device) -> State:
    """Return the states of PyTorch's own generators, which dropout draws from."""
    return {kind: module.get_rng_state() for kind, module in _with_generators(device).items()}


def set_random_state(state: State, device: torch.device) -> None:
    """Set PyTorch's generators to the states that `random_state` returned."""
    for kind, module in _with_generators(device).items():
        if kind in state:
            module.set_rng_state(state[kind])


def _with_generators(device: torch.device) -> dict[str, Any]:
    return {"cpu": torch} | ({} if device.type == "cpu" else {device.type: torch.get_device_module(device)})
