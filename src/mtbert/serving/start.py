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
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from mtbert.errors import MtbertError
from mtbert.serving import description, logs
from mtbert.serving.description import Description, ServingError
from mtbert.serving.options import METRICS_FOLDER, Options

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 2048  # connections that wait to be accepted
SECONDS_TO_END = 30  # that requests in flight have after SIGTERM
SECONDS_TO_ANSWER = 30  # that a worker has to say that it lives, before it is replaced
SECONDS_TO_RETRY = 1  # after a worker that could not start
PR_SET_PDEATHSIG = 1  # linux/prctl.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
BLOCK = 2**20  # bytes of a block of memory that goes back to the system as soon as it is free


def serve(options: Options, host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or Ctrl-C; requests in flight are answered before it ends.

    Raises:
        MtbertError: the folder cannot be served, or the port is taken.
    """
    exported = description.read(options.folder)
    with listen(host, port) as listening:
        if workers == 1:
            app = _app(options)
            _say_start(exported, listening)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # which uvicorn sends itself again at the end
            uvicorn.Server(_config(app)).run([listening])
        else:
            description.check(options.folder, exported)
            _say_start(exported, listening)
            app = partial(_app_of_worker, options, os.getpid())
            _run_workers(_config(app, factory=True, workers=workers), listening)


def _config(app: Any, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=SECONDS_TO_END,
        timeout_worker_healthcheck=SECONDS_TO_ANSWER,
        **more,
    )


def _run_workers(config: uvicorn.Config, listening: socket.socket) -> None:
    """Run workers, and another in place of one that dies, until SIGTERM or Ctrl-C.

    ServingError where the last worker is gone, and none can start.
    """
    logs.start()
    logging.getLogger("uvicorn.error").setLevel(logging.INFO)  # which says that a worker died
    with tempfile.TemporaryDirectory(prefix="mtbert-metrics-") as folder:
        os.environ[METRICS_FOLDER] = folder
        running = Multiprocess(config, [listening])
        running.run()
    if any(process.exitcode == STARTUP_FAILURE for process in running.processes):
        raise ServingError("no worker runs, and none can start; the log says why")


def listen(host: str, port: int) -> socket.socket:
    """Take the port; ServingError where it is taken, or the host is none of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where the protocol is named; else each answer takes 40 ms more.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ServingError(f"port {port} is taken by another program; --port {port + 1} takes another") from None
        raise ServingError(
            f"--host {host} --port {port}: {error.strerror}; allowed: an address of this machine"
        ) from None
    return listening


def _say_start(exported: Description, listening: socket.socket) -> None:
    host, port, *_ = listening.getsockname()
    address = f"http://[{host}]:{port}" if listening.family == socket.AF_INET6 else f"http://{host}:{port}"
    print(f"{exported.variant}, seed {exported.seed}, answers {', '.join(exported.tasks)}")
    if exported.is_of_sample:
        print("note: it was trained on the sample's generated sentences alone, and knows no others")
    if not ipaddress.ip_address(host).is_loopback:
        print(f"note: everyone who reaches {host} can ask it: there is no password and no TLS")
    print(f"{address}/docs describes requests - Ctrl-C ends it", flush=True)


def _app(options: Options) -> "FastAPI":
    """Return the application of this process, which only serves."""
    from mtbert.serving.app import create

    handler = logs.start()
    _give_back_memory()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the threads are for the graphs
    return create(options, handler)


def _app_of_worker(options: Options, parent: int) -> "FastAPI":
    """Return the application of a worker, which ends with its parent.

    Where it cannot start and others run, these go on, and the parent tries again; else the parent ends.
    """
    from mtbert.serving import metrics

    _end_with(parent)
    others = metrics.running_workers()
    try:
        return _app(options)
    except MtbertError as error:
        logs.event("not started", logging.ERROR, reason=str(error))
        time.sleep(SECONDS_TO_RETRY)
        sys.exit(1 if others else STARTUP_FAILURE)


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
