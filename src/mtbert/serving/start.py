"""Start the server: the folder is checked, the port taken, and workers run until SIGTERM or Ctrl-C."""

import ctypes
import errno
import ipaddress
import logging
import os
import signal
import socket
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.supervisors import Multiprocess

from mtbert.errors import MtbertError
from mtbert.serving import description, logs
from mtbert.serving.app import Options, create
from mtbert.serving.description import Description, ServingError
from mtbert.serving.metrics import FOLDER, forget_dead_workers

if TYPE_CHECKING:
    from fastapi import FastAPI

SECONDS_TO_END = 30  # that requests in flight have after SIGTERM
SECONDS_TO_ANSWER = 15  # that a worker has to say that it lives, before it is replaced
PR_SET_PDEATHSIG = 1  # linux/prctl.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
BLOCK = 2**20  # bytes of a block of memory that goes back to the system as soon as it is free


def serve(options: Options, host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or Ctrl-C; requests in flight are answered before it ends.

    Raises:
        MtbertError: the folder cannot be served, or the port is taken.
    """
    exported = description.read(options.folder)
    description.check(options.folder, exported)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        _bind(listening, host, port)
        config = uvicorn.Config(
            partial(_app, options, os.getpid() if workers > 1 else None), factory=True, workers=workers,
            log_config=None, access_log=False, server_header=False, lifespan="on",
            timeout_graceful_shutdown=SECONDS_TO_END, timeout_worker_healthcheck=SECONDS_TO_ANSWER,
        )  # fmt: skip
        _say_start(exported, host, listening.getsockname()[1])
        if workers == 1:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # which uvicorn sends itself again at the end
            uvicorn.Server(config).run([listening])
        else:
            _run_workers(config, listening)


def _run_workers(config: uvicorn.Config, listening: socket.socket) -> None:
    """Run workers, and another in place of one that dies, until SIGTERM or Ctrl-C."""
    logs.start()
    logging.getLogger("uvicorn.error").setLevel(logging.INFO)  # which says that a worker died
    with tempfile.TemporaryDirectory(prefix="mtbert-metrics-") as folder:
        os.environ[FOLDER] = folder
        Multiprocess(config, [listening]).run()


def _bind(listening: socket.socket, host: str, port: int) -> None:
    """Take the port; ServingError where it is taken, or the host is none of this machine."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ServingError(f"port {port} is taken by another program; --port {port + 1} takes another") from None
        raise ServingError(
            f"--host {host} --port {port}: {error.strerror}; allowed: an address of this machine"
        ) from None


def _say_start(exported: Description, host: str, port: int) -> None:
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    print(f"{exported.variant}, seed {exported.seed}, answers {', '.join(exported.tasks)}")
    if exported.is_of_sample:
        print("note: it was trained on the sample's generated sentences alone, and knows no others")
    if not ipaddress.ip_address(host).is_loopback:
        print(f"note: everyone who reaches {host} can ask it: there is no password and no TLS")
    print(f"{address}/docs describes requests - Ctrl-C ends it", flush=True)


def _app(options: Options, parent: int | None) -> "FastAPI":
    """Return the application of a worker, whose parent is named; or of the only process."""
    lines = logs.start()
    _give_back_memory()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the threads are for the graphs
    if parent is None:
        return create(options, lines)
    _end_with(parent)
    forget_dead_workers()
    try:
        return create(options, lines)
    except MtbertError as error:
        logs.event("not started", logging.ERROR, reason=str(error))
        sys.exit(1)  # the others go on, and the parent tries again


def _end_with(parent: int) -> None:
    """On Linux, let SIGTERM end this worker when its parent is gone, however that ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            sys.exit(1)


def _give_back_memory() -> None:
    """Have glibc return the memory of a batch after it; else lengths that differ leave gaps that add up."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "malloc_trim"):  # GNU's
        for option in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
            libc.mallopt(option, BLOCK)  # type: ignore[union-attr]
