"""Trainings on a Ray cluster whose address was given. Ray chooses nodes, and tries again where one is lost."""

import contextlib
import io
import logging
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# Before Ray is imported: no tool may send usage data, and lines of trainings differ in numbers alone.
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
import ray
from ray import cloudpickle
from ray.exceptions import RayError

from mtbert.errors import DataError, SettingsError, one_line
from mtbert.trainings import many, packs
from mtbert.trainings.many import OUTPUT, Starter, Training, end_with_parent, threads
from mtbert.trainings.packs import PACK

REACHED = 10.0  # seconds in which a cluster has to answer
RETRIES = 4  # of a training whose node was lost
PATIENCE = 50.0  # seconds in which a training that is stopped has to write its checkpoint, less than elsewhere


@contextlib.contextmanager
def joined(address: str, wanted: Sequence[Training], gpus: float | None, storage: str | None) -> Iterator[Starter]:
    """Join the cluster at an address and put a pack of all trainings there; leave it with the block.

    Args: see `mtbert grid --help`. Yields: what starts a training on some node.

    Raises:
        SettingsError: the cluster cannot be reached, or the address is of another kind.
    """
    if address.startswith("ray://"):
        raise SettingsError(f"--address is {address}; allowed: what `ray start` printed, such as 10.0.0.1:6379")
    _join(address)
    try:
        if gpus is None:
            gpus = 1.0 if "GPU" in ray.cluster_resources() else 0.0
        for module in (sys.modules[__name__], many):  # a node has nothing of mtbert but the pack
            cloudpickle.register_pickle_by_value(module)
        packs.write(OUTPUT / "pack.tar", wanted)
        pack = [ray.put((OUTPUT / "pack.tar").read_bytes())]
        storage_folder = storage and str(Path(storage).resolve())

        def start(training: Training, output: Path, _: str) -> OnNode:
            options = {"num_cpus": threads(training), "num_gpus": gpus, "max_retries": RETRIES}
            task = ray.remote(on_node).options(name=training.name, **options)
            return OnNode(output, task.remote(training.name, pack, storage_folder))

        yield start
    finally:
        ray.shutdown()


def _join(address: str) -> None:
    try:
        url = urlsplit(f"//{address}")
        if url.port:  # fails at once, where Ray itself tries for minutes
            socket.create_connection((url.hostname or "", url.port), REACHED).close()
        ray.init(address=address, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(f"--address is {address}, where no Ray can be joined: {one_line(error)}") from None


@dataclass
class OnNode:
    """A training on some node, with the methods of a process that `many.Queue` calls."""

    output: Path
    task: Any

    def poll(self) -> int | None:
        """Return None while it runs; put its run where a training here would have, and return 0, or 1 for a failure."""
        if not ray.wait([self.task], timeout=0)[0]:
            return None
        archive = self.output.with_suffix(".tar")
        try:
            archive.write_bytes(ray.get(self.task))
            _, faults = packs.take(archive)
            if faults:
                raise DataError("; ".join(faults))
        except (RayError, DataError) as error:
            with self.output.open("a") as handle:
                print(f"error: {error}", file=handle)
            return 1
        finally:
            archive.unlink(missing_ok=True)
        return 0

    def terminate(self) -> None:
        """Have Ray interrupt it."""
        ray.cancel(self.task)

    def wait(self, timeout: float) -> None:
        """Wait until its checkpoint is written; end it where that takes longer."""
        if not ray.wait([self.task], timeout=timeout)[0]:
            ray.cancel(self.task, force=True)


def on_node(name: str, pack: list[Any], storage: str | None) -> bytes:
    """Train one of a pack's trainings; return the archive of runs. Ray sends this function, which needs no mtbert.

    The reference to the pack's bytes is in a list, so that a task does not hold them while it trains.
    """
    with tempfile.TemporaryDirectory(prefix="mtbert-") as folder:
        with tarfile.open(fileobj=io.BytesIO(ray.get(pack[0]))) as tar:
            tar.extractall(folder, filter="data")
        if storage:
            checkpoints = Path(storage, "checkpoints")
            checkpoints.mkdir(parents=True, exist_ok=True)
            Path(folder, PACK, "build/checkpoints").symlink_to(checkpoints)
        command = [sys.executable, f"{PACK}/run.py", "--only", name, "--weights"]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
        try:
            while process.poll() is None:
                time.sleep(0.2)  # in steps: Ray interrupts only between two of Python's
        finally:
            process.terminate()
            process.wait(PATIENCE)
        return Path(folder, "runs.tar").read_bytes()
