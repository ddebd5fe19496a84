"""Trainings on a Ray cluster whose address was given. Ray chooses nodes, and tries again where one is lost."""

import contextlib
import logging
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mtbert import files
from mtbert.errors import DataError, MtbertError, SettingsError
from mtbert.scale import node, packs
from mtbert.scale.runner import Train
from mtbert.scale.trainings import BUILD, Training, say, threads

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before Ray is imported; no tool may send usage data
os.environ["RAY_DEDUP_LOGS"] = "0"  # lines of trainings differ in numbers alone
REACHED = 10.0  # seconds in which a cluster has to answer
RETRIES = 4  # of a training whose node was lost
POLL = 1.0  # seconds


class ClusterError(MtbertError):
    """A cluster that cannot be reached."""


@contextlib.contextmanager
def joined(
    address: str, trainings: Sequence[Training], gpus: float | None, storage: str | None
) -> Iterator[Callable[[threading.Event], Train]]:
    """Join the cluster at an address and put a pack of all trainings there; leave it with the block.

    Args:
        address: what `ray start` printed.
        trainings: what is to be trained.
        gpus: part of a GPU that each has; None for one where a node has some.
        storage: a folder that all nodes share, for checkpoints; None for none.

    Yields:
        Given an event that stops it, what trains one on some node and places its run here.

    Raises:
        ClusterError: the cluster cannot be reached. SettingsError: no node has the cores or GPUs that a training needs.
    """
    import ray
    from ray import cloudpickle

    if address.startswith("ray://"):
        raise SettingsError(f"--address is {address}; allowed: what `ray start` printed, such as 10.0.0.1:6379")
    try:
        if (place := urlsplit(f"//{address}")).port:  # Ray itself tries for minutes
            socket.create_connection((place.hostname or "", place.port), REACHED).close()
        ray.init(address=address, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise ClusterError(f"--address is {address}, where no Ray can be joined: {why}") from None
    try:
        needs = [{"num_cpus": threads(one), "num_gpus": _part(gpus), "max_retries": RETRIES} for one in trainings]
        _check_room(trainings, needs)
        cloudpickle.register_pickle_by_value(node)
        pack = packs.OUTPUT / "pack.tar"
        packs.write(pack, trainings)
        storage = storage and str(Path(storage).resolve())
        digest = files.sha256_of(f"{files.sha256(pack)} {storage}".encode())
        sent = (digest, [ray.put(pack.read_bytes())], storage)
        if storage is None:
            say("no STORAGE: a training whose node is lost starts over")
        tasks = {
            one: ray.remote(node.train).options(name=one.name, **need)
            for one, need in zip(trainings, needs, strict=True)
        }
        yield lambda stop: lambda training: _train(training, tasks[training].remote(training.name, *sent), stop)
    finally:
        ray.shutdown()


def _part(gpus: float | None) -> float:
    import ray

    return float(ray.cluster_resources().get("GPU", 0) > 0) if gpus is None else gpus


def _check_room(trainings: Sequence[Training], needs: Sequence[Mapping[str, float]]) -> None:
    import ray

    found = [one["Resources"] for one in ray.nodes() if one["Alive"]]
    for training, need in zip(trainings, needs, strict=True):
        cores, gpus = need["num_cpus"], need["num_gpus"]
        if not any(one.get("CPU", 0) >= cores and one.get("GPU", 0) >= gpus for one in found):
            have = "; ".join(f"{one.get('CPU', 0):g} cores, {one.get('GPU', 0):g} GPUs" for one in found)
            raise SettingsError(
                f"{training.name} needs {cores} cores (run.threads in params.yaml) and {gpus:g} GPUs, which no node of "
                f"the cluster has: {have}"
            )


def _train(training: Training, end: Any, stop: threading.Event) -> int | None:
    """Wait for a task and place the run that it returns."""
    import ray
    from ray.exceptions import RayError, TaskCancelledError

    asked = False
    while not ray.wait([end], timeout=POLL)[0]:
        if stop.is_set() and not asked:
            ray.cancel(end)
            asked = True
    try:
        return _taken(training, ray.get(end))
    except TaskCancelledError:
        return None
    except (RayError, DataError) as error:
        with (packs.OUTPUT / f"{training.name}.log").open("a") as log:
            print(f"error: {error}", file=log)
        return 1


def _taken(training: Training, runs: bytes) -> int | None:
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=".", suffix=files.PARTIAL) as folder:
        archive = Path(folder, f"{training.name}.tar")
        archive.write_bytes(runs)
        taken, faults = packs.take(archive)
    if faults:
        raise DataError("; ".join(faults))
    return 0 if taken else None
