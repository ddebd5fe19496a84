"""Describe the machine and the versions that a run used, and where a build folder was begun."""

import os
import platform
import resource
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from mtbert import starting

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
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": cores,
        "memory_gb": round(starting.memory() / 2**30),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
    }


def origin() -> dict[str, str]:
    """Return what scores depend on beside settings, code and data: processor, accelerator, and PyTorch's version."""
    about = machine()
    return {"processor": about["processor"], "accelerator": about["accelerator"], "torch": metadata.version("torch")}


def peak_memory_mb() -> float:
    """Return the largest resident memory of this process so far, in MiB, plus the accelerator's."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    return round(resident + (torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else 0))


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
