"""Choose the device and the precision: one rule for pretraining and training."""

import ctypes
import sys
from dataclasses import dataclass
from typing import Literal

import torch

from mtbert.errors import SettingsError

Precision = Literal["bf16", "fp32"]
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h

# Names by torch.cpu.get_capabilities of processors that multiply bf16 in hardware (x86 and Arm); on others bf16 is
# emulated and slower than fp32.
_CPU_BF16 = ("amx_bf16", "avx512_bf16", "sve_bf16")


@dataclass(frozen=True)
class Hardware:
    """What a training computes on, and in which precision."""

    device: torch.device
    precision: Precision = "fp32"

    @property
    def is_apart(self) -> bool:
        """Whether the device computes beside the processor, which waits for it where it reads a number."""
        return self.device.type != "cpu"

    def autocast(self) -> torch.autocast:
        """Compute forward passes of a block in that precision."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")


def device(setting: str) -> torch.device:
    """Return the device of a setting; auto: CUDA, else Apple's, else the CPU. SettingsError where it is missing."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    kind = next(name for name in ("cuda", "mps", "cpu") if available[name]) if setting == "auto" else setting
    if not available.get(kind):
        names = ", ".join(["auto", *(name for name in available if available[name])])
        raise SettingsError(f"device is {setting}, which torch cannot use on this machine; allowed: {names}")
    return torch.device(kind)


def keep_memory() -> None:
    """Make training on a CPU reuse its memory; changes nothing but time.

    By default glibc returns large blocks to the system as soon as they are freed, and gets them again page by page in
    the next step: a sixth of a step at MiniLM's size. Without glibc this does nothing.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            for option in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
                libc.mallopt(option, 2**31 - 1)


def precision(setting: Literal["auto", "bf16", "fp32"], device: torch.device) -> Precision:
    """Return the precision of a setting on a device; auto: bf16 where the hardware has it, else fp32."""
    if setting != "auto":
        return setting
    has_bf16 = False
    if device.type == "cuda":
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    elif device.type == "cpu":
        capabilities = torch.cpu.get_capabilities()
        has_bf16 = any(capabilities.get(name, False) for name in _CPU_BF16)
    return "bf16" if has_bf16 else "fp32"
