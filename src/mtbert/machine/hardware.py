"""Choose the device and the precision: one rule for pretraining and training."""

import ctypes
import os
import platform
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from mtbert import files, layout
from mtbert.errors import SettingsError
from mtbert.machine import mps

Precision = Literal["bf16", "fp32"]
NAMES_A_GPU = re.compile(r"\d|GPU-|MIG-")  # how a value of CUDA_VISIBLE_DEVICES begins that does
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h

SIZE = 768  # of the matrices whose products are measured
SECONDS = 0.25  # of measuring each precision
GAIN = 1.1  # as many times as fast bf16 has to be, against ties
# Names by torch.cpu.get_capabilities of processors that multiply bf16 in hardware (x86 and Arm); on others bf16 is
# emulated, up to two hundred times slower than fp32, and not worth to be measured.
_CPU_BF16 = ("amx_bf16", "avx512_bf16", "sve_bf16")
# oneDNN multiplies bf16 on a CPU. It and PyTorch each keep the kernels of the last 1,024 products, half a MiB a product
# together. Each length of a batch has some thirty products, and a step needs only its own. Both read these variables at
# their first product.
KEPT_KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
os.environ |= {**KEPT_KERNELS, **os.environ}


@dataclass(frozen=True)
class Hardware:
    """What a training computes on, in which precision, and whether a GPU records its steps: training/steps.py."""

    device: torch.device
    precision: Precision = "fp32"
    records: bool = False

    @property
    def is_asynchronous(self) -> bool:
        """Whether the device computes beside the processor, which waits for it where it reads a number."""
        return self.device.type != "cpu"

    def autocast(self) -> torch.autocast:
        """Compute forward passes of a block in that precision."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")


def device(setting: str) -> torch.device:
    """Return the device of a setting; auto: CUDA, else Apple's, else the CPU. SettingsError where it is missing."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if setting == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if available[name]))
    if not available.get(setting):
        allowed = ", ".join(["auto", *(name for name in available if available[name])])
        raise SettingsError(f"device is {setting}, which torch cannot use on this machine; allowed: {allowed}")
    return torch.device(setting)


def training_device(setting: str) -> torch.device:
    """Return the device of a training, as `device` does.

    SettingsError, too, where CUDA_VISIBLE_DEVICES names a GPU and auto would take another device for it, which may
    take days: PyTorch says of a GPU that cannot be reached, such as one whose service for many processes has ended,
    that there is none.
    """
    visible = os.environ.get(mps.VISIBLE, "")
    if setting == "auto" and NAMES_A_GPU.match(visible) and not torch.cuda.is_available():
        raise SettingsError(
            f"{mps.VISIBLE} is {visible}, a GPU that torch cannot use on this machine; see `nvidia-smi`; without "
            f"a GPU set {mps.VISIBLE} to -1; run.device is auto; allowed without a GPU: cpu"
        )
    return device(setting)


def repeatable() -> None:
    """Make a GPU add up in the same order each time, so that the same training ends in the same bytes.

    What has no such order on a GPU then raises an error. Call it before anything is computed there.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS asks for
    torch.use_deterministic_algorithms(True)
    # A check for programs that read what nobody wrote.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def keep_memory() -> None:
    """Make training on a CPU reuse its memory; changes nothing but time.

    By default glibc returns large blocks to the system as soon as they are freed, and gets them again page by page in
    the next step: a sixth of a step at MiniLM's size. Without glibc this does nothing.
    """
    if (libc := _glibc()) is not None:
        for option in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
            libc.mallopt(option, 2**31 - 1)


def give_back_memory() -> None:
    """Return to the system what `keep_memory` keeps and nothing uses; without glibc this does nothing.

    Blocks of batches of one length leave gaps that those of another length do not fit into, so that a long training
    would come to hold many times what it uses.
    """
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """Return the C library where it is GNU's."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") else None


def precision(
    setting: Literal["auto", "bf16", "fp32"], device: torch.device, cpu_precision: Precision | None = None
) -> Precision:
    """Return the precision of a setting on a device.

    auto: on a GPU bf16 where the hardware has it; on a CPU `cpu_precision`, which `measured` returns; else fp32.
    """
    if setting != "auto":
        return setting
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device.type == "cpu":
        return cpu_precision or faster()
    return "fp32"


def measured(build: Path) -> Precision:
    """Return the precision of a build folder on a CPU: the faster one where it was begun; fp32 if this CPU has no bf16.

    So all runs of a folder have the same precision. Processors with AVX-512's bf16 differ: on some it is four times as
    fast as fp32, on others half as fast. A folder that does not say it takes the faster one of this CPU.
    """
    file = layout.machine(build)
    usual = files.read_json(file).get("precision") if file.is_file() else None
    return usual if usual in ("bf16", "fp32") and _has_bf16() else faster()


def faster() -> Precision:
    """Measure products of matrices on this CPU in both precisions, for half a second, and return the faster one."""
    if not _has_bf16():
        return "fp32"
    return "bf16" if products(torch.bfloat16) > GAIN * products(torch.float32) else "fp32"


def _has_bf16() -> bool:
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in _CPU_BF16)


def products(dtype: torch.dtype) -> float:
    """Return how many products of two matrices one thread computes in a second of its own, whatever else is running."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    first, second = (torch.ones(SIZE, SIZE, dtype=dtype) for _ in range(2))
    torch.mm(first, second)  # the first product takes longer
    count = 0
    start = time.thread_time()
    while (seconds := time.thread_time() - start) < SECONDS:
        torch.mm(first, second)
        count += 1
    torch.set_num_threads(threads)
    return count / seconds


def processor() -> str:
    """Return the name of this machine's processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return (names[0] if names else "") or platform.processor() or platform.machine()
