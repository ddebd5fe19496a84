"""Describe the machine and the versions that a run used, and where a build folder was begun."""

import platform
import sys
from importlib import metadata
from typing import Any

import torch

from mtbert.machine import hardware, starting

try:
    import resource
except ModuleNotFoundError:  # of Windows
    resource = None

PACKAGES = ("torch", "transformers", "accelerate", "sentence-transformers", "numpy", "pandas", "dvc", "mlflow")


def versions() -> dict[str, str]:
    """Return versions of Python and of the packages that results can depend on; leave out those not installed."""
    by_package = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            by_package[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return by_package


def machine() -> dict[str, Any]:
    """Return processor, cores that this process may use, memory in GiB, and the accelerator if there is one."""
    return {
        "processor": hardware.processor(),
        "cores": starting.cores(),
        "memory_gb": round(starting.memory() / 2**30),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
    }


def origin() -> dict[str, str]:
    """Return what scores depend on beside settings, code and data: processor, accelerator, and PyTorch's version.

    With them stands the precision that is the faster one on this processor.
    """
    about = {key: value for key, value in machine().items() if key in ("processor", "accelerator")}
    return {**about, "torch": metadata.version("torch"), "precision": hardware.faster()}


def peak_memory_mb() -> int | None:
    """Return the largest resident memory of this process so far, in MiB; None where the system does not say."""
    if resource is None:
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)


def peak_gpu_memory_mb() -> int | None:
    """Return the most memory of the GPU that PyTorch held in this training, in MiB, without CUDA's own; None on a CPU.

    Held is what other trainings on that GPU cannot have, recorded steps included, and not only what tensors fill.
    """
    return round(torch.cuda.max_memory_reserved() / 2**20) if torch.cuda.is_available() else None
