"""Let one process run at a time."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

POLL = 0.2  # seconds


@contextlib.contextmanager
def exclusive(file: Path, what: str) -> Iterator[bool]:
    """Hold an inter-process lock while the block runs; it is released at the process's exit, however that comes.

    Args:
        file: the lock's file. It stays after the lock is released: a waiting process has it open.
        what: the purpose of the lock for messages, such as `training pals, seed 1`.

    Yields:
        Whether it had to wait for another process.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock, waited = FileLock(file), False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{what}: already running; waiting until that ends", file=sys.stderr, flush=True)
        waited = True
        lock.acquire(poll_interval=POLL)
    try:
        yield waited
    finally:
        lock.release()
