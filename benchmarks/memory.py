"""The most memory that a piece of work needs, as Linux counts it."""

import contextlib
import ctypes
import gc
from collections.abc import Callable, Iterator
from pathlib import Path

from mtbert.machine import hardware

STATUS, REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak(run: Callable[[], None]) -> float | None:
    """MiB of resident memory that `run` adds at most to what was held before; None where the system does not tell."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)  # else what an earlier run has freed would be used again, and not counted
    try:
        REFS.write_text("5")  # sets the high-water mark back to what is resident now
    except OSError:
        run()
        return None
    before = _highest()
    run()
    return (_highest() - before) / 2**10


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """The project's own way with memory, for its own contestants; then what glibc comes to by itself in a training."""
    hardware.keep_memory()
    try:
        yield
    finally:
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(hardware.M_MMAP_THRESHOLD, 32 * 2**20)  # the most that its own adapting goes up to,
            libc.mallopt(hardware.M_TRIM_THRESHOLD, 64 * 2**20)  # and twice that
            libc.malloc_trim(0)


def _highest() -> int:
    """High-water mark of resident memory, in KiB."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1])
