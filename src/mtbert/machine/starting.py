"""What a machine gives to a process: cores and memory; and how often a training shows its progress."""

import os
import sys
from collections.abc import Iterable

SHOWN_EVERY = 1.0 if sys.stderr.isatty() else 30.0  # seconds between two states of a training's progress bar


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
