"""Ray: one of this machine alone, or a cluster whose address was given; never one that was merely found."""

import contextlib
import importlib.util
import logging
import os
import secrets
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mtbert import machine, repository
from mtbert.errors import MtbertError, SettingsError
from mtbert.grid import needs

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before Ray is imported; no tool may send usage data
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # leave CUDA_VISIBLE_DEVICES where there is no GPU
REACHED = 10.0  # seconds in which a cluster has to answer
LOCAL = "local"  # as Ray calls a cluster of its own


class ClusterError(MtbertError):
    """Ray is not installed, or a cluster cannot be reached."""


@dataclass(frozen=True)
class Cluster:
    """What is there for trainings.

    Attributes:
        limit: how many may run at a time.
        gpus: part of a GPU that each has.
    """

    limit: int
    gpus: float


def check_installed() -> None:
    """Raise ClusterError where Ray is missing."""
    if importlib.util.find_spec("ray") is None:
        raise ClusterError(
            "trainings side by side need Ray, which is not installed: pip install 'mtbert[pipeline]', or `make setup` "
            "in the repository; `dvc repro` trains one after the other without it"
        )


@contextlib.contextmanager
def joined(address: str | None, jobs: int | None, gpus: float | None, stages: Sequence[str]) -> Iterator[Cluster]:
    """Start Ray on this machine, or join the cluster at an address; left, and a Ray of ours ended, with the block.

    Args:
        address: of the cluster, as `ray start` prints it; None for this machine alone.
        jobs: trainings at a time; None for as many as there is room for on the cluster.
        gpus: part of a GPU for each training; None for one, or less where on this machine there are too few.
        stages: the trainings.

    Raises:
        ClusterError: the cluster cannot be reached.
        SettingsError: no node has the cores or GPUs that a training needs, or GPUs cannot be divided so.
    """
    if address is None:
        _demand_token()
    import ray

    if gpus is not None and gpus > 1 and not gpus.is_integer():
        raise SettingsError(f"--gpus is {gpus:g}; allowed: a part of one, such as 0.25, or a whole number")
    count = min(jobs or len(stages), len(stages))
    try:
        if address is None:
            yield _own(count, gpus, stages)
        else:
            yield _given(address, count, gpus, stages)
    finally:
        ray.shutdown()


def _demand_token() -> None:
    """Have a Ray of ours refuse whoever lacks a token of its own, since it listens on all of a machine's addresses.

    Ray would otherwise leave one in ~/.ray, and every later `ray start` on this machine demand that of other nodes.
    """
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))  # read when Ray is imported


def _own(jobs: int, gpus: float | None, stages: Sequence[str]) -> Cluster:
    found = machine.gpus()
    threads = max(map(needs.threads, stages))
    _init(LOCAL, num_cpus=jobs * threads, num_gpus=len(found), include_dashboard=False)
    return Cluster(jobs, needs.part_of_gpu(jobs, len(found)) if gpus is None else gpus)


def _given(address: str, jobs: int, gpus: float | None, stages: Sequence[str]) -> Cluster:
    import ray

    if address.startswith("ray://"):
        raise SettingsError(
            f"--address is {address}: start the grid on a machine of the cluster, with the address that `ray start` "
            "printed there, such as 10.0.0.1:6379; what trainings send comes to that machine"
        )
    try:
        if (place := urlsplit(f"//{address}")).port:  # Ray itself tries for minutes
            socket.create_connection((place.hostname or "", place.port), REACHED).close()
        _init(address)
    except (OSError, RuntimeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise ClusterError(f"--address is {address}, where no Ray can be joined: {why}") from None
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    part = float(any(node.get("GPU") for node in nodes)) if gpus is None else gpus
    for stage in stages:
        threads = needs.threads(stage)
        if not any(node.get("CPU", 0) >= threads and node.get("GPU", 0) >= part for node in nodes):
            raise SettingsError(
                f"{stage} needs {threads} cores (run.threads in {repository.PARAMS}) and {part:g} GPUs, which no node "
                f"of the cluster has: {'; '.join(_about(node) for node in nodes)}"
            )
    return Cluster(jobs, part)


def _about(node: dict[str, float]) -> str:
    return f"{node.get('CPU', 0):g} cores, {node.get('GPU', 0):g} GPUs"


def _init(address: str, **options: Any) -> None:
    import ray

    ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **options)
    repository.heed()  # Ray takes SIGTERM over
