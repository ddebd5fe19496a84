"""Let one process run at a time: a lock that ends with its process, however that ends, and names it."""

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from mtbert import files
from mtbert.errors import DataError

POLL = 0.2  # seconds


@contextlib.contextmanager
def alone(file: Path, what: str) -> Iterator[bool]:
    """Hold a lock while the block runs; if another process holds it, print which, and wait until that ends.

    Args:
        file: the lock's file. It stays after the lock is released: a waiting process has it open. A file beside it with
            the ending .json names the process that holds the lock.
        what: the purpose of the lock for messages, such as `training pals, seed 1`.

    Yields:
        Whether it had to wait for another process.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock, holder, waited = FileLock(file), file.with_suffix(".json"), False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{what}: {_who(holder)} is at it; waiting until that ends", file=sys.stderr, flush=True)
        waited = True
        lock.acquire(poll_interval=POLL)
    try:
        files.write_json(holder, {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%F %T")})
        yield waited
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _who(holder: Path) -> str:
    try:
        about = files.read_as(dict[str, str | int], holder, "the same command")
    except DataError:  # it has the lock, but has not written the file yet
        return "another process"
    return f"process {about['pid']} on {about['host']}, since {about['since']},"
