"""Start and end processes that import large libraries without delay, or that need much memory or time."""

import contextlib
import gc
import os
import sys
from collections.abc import Iterable, Iterator

SHOWN_EVERY = 1.0 if sys.stderr.isatty() else 30.0  # seconds between two states of a training's progress bar


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """Import without the garbage collector, and exclude the imported objects from it afterwards.

    Modules live as long as the process. Collecting torch's and transformers' hundreds of thousands of objects again and
    again takes a sixth of their import time, and a second or two at the end of the process.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Return the machine's memory in bytes; 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # AttributeError: Windows
        return 0


def warn_about_memory(sizes: Iterable[int]) -> None:
    """Warn where training so many weights needs more memory than the machine has.

    A weight takes 16 bytes: itself, its gradient and AdamW's two means, 4 bytes each.
    """
    needed = 16 * sum(sizes)
    available = memory()
    if needed > available > 0:
        message = (
            f"training takes {needed / 2**30:.1f} GiB for weights, and this machine has {available / 2**30:.1f} GiB"
        )
        print(f"warning: {message}", file=sys.stderr)
