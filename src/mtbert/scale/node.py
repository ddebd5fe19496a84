"""What Ray runs on a node: unpack once a node, train, send the runs back.

Ray sends the code of this file itself, and a node has nothing of mtbert but the pack. So nothing but the standard
library and Ray is imported here.
"""

import ctypes
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

PACK = "mtbert-pack"
PATIENCE = 70.0  # seconds in which a training that is stopped has to write its checkpoint
WEEK = 7 * 24 * 3600  # seconds after which an unpacked pack is removed
PR_SET_PDEATHSIG = 1  # of Linux


def train(name: str, digest: str, pack: list[Any], storage: str | None) -> bytes:
    """Train one of a pack's trainings in the node's copy of it; return the archive of runs.

    Args:
        name: such as `pals-1`.
        digest: of the pack and the storage.
        pack: the reference to its bytes, in a list so that Ray does not fetch them where they are unpacked already.
        storage: a folder that all nodes share, for checkpoints; None where there is none.
    """
    folder = _unpacked(digest, pack, storage)
    runs = folder / f"{name}.tar"
    command = [sys.executable, f"{PACK}/run.py", "--only", name, "--weights", "--out", str(runs)]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
    try:
        while process.poll() is None:
            time.sleep(0.2)  # in steps: Ray interrupts only between two of Python's
    finally:
        process.terminate()
        process.wait(PATIENCE)
    content = runs.read_bytes()
    runs.unlink()
    return content


def _unpacked(digest: str, pack: list[Any], storage: str | None) -> Path:
    """Return the folder of the pack on this node; make it where it is not there."""
    import ray

    place = Path(tempfile.gettempdir(), f"mtbert-{os.getuid()}")
    folder = place / f"{ray.get_runtime_context().get_node_id()[:16]}-{digest[:16]}"
    place.mkdir(mode=0o700, exist_ok=True)
    if place.stat().st_uid != os.getuid():
        raise PermissionError(f"{place} belongs to another user")
    if not folder.is_dir():
        for old in place.iterdir():
            if old.stat().st_mtime < time.time() - WEEK:
                shutil.rmtree(old, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(dir=place))
        with tarfile.open(fileobj=io.BytesIO(ray.get(pack[0]))) as tar:
            tar.extractall(fresh, filter="data")
        if storage:
            Path(storage, "checkpoints").mkdir(parents=True, exist_ok=True)
            (fresh / PACK / "build/checkpoints").symlink_to(Path(storage, "checkpoints"))
        try:
            fresh.rename(folder)
        except OSError:  # another task of this node was faster
            shutil.rmtree(fresh)
    os.utime(folder)
    return folder


def end_with_parent() -> None:
    """On Linux, have a new process stop where the thread that started it is gone, however that ended."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
