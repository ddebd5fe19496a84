"""Log a run to MLflow while it trains, from the training's side: never waits, never fails, needs no MLflow."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import mtbert
from mtbert.tracking import place

OFF = "MTBERT_LIVE"  # set to `off` to train without a live log; `track` logs the runs afterwards
PATIENCE = 10.0  # most seconds that `finish` and `fail` wait


class LiveRun:
    """Hands values to a process of its own, which logs them.

    It is a process, not a thread: MLflow's import and database work hold Python's lock for seconds, and PyTorch
    releases that lock at every operation. The process also ends the run in MLflow when the training is killed.

    The pipe to it never blocks: if it is full, values are dropped here and taken from `history.csv` at the end. Create
    it before slow imports: MLflow's own then runs at the same time.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        seed: int,
        patience: float = PATIENCE,
        silent: bool = False,
        build: Path = Path("build"),
    ) -> None:
        """Start logging a run.

        Args:
            settings: the plan file of the variant.
            seed: the run's seed.
            patience: most seconds that `finish` and `fail` wait for MLflow.
            silent: log nothing, since another process of the same run does.
            build: the build directory, whose plan lists what departs from the defaults.
        """
        self._patience = patience
        self._writer = None if silent else _start_writer()
        self._send({"settings": dict(settings), "seed": seed, "build": str(build)})
        if self._writer is not None and self._writer.stdin is not None:
            os.set_blocking(self._writer.stdin.fileno(), False)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log the values of a step, such as `{"loss/sst": 0.7}`; returns at once."""
        self._send({"step": step, "values": dict(values), "time": time.time_ns() // 1_000_000})

    def finish(self, run_directory: Path, logs_directory: Path) -> None:
        """Complete the run from its written directories; waits a bounded time.

        Args:
            run_directory: `build/runs/<variant>/<seed>`.
            logs_directory: the folder of the run's log, see `files.log_directory`.
        """
        self._end({"finish": [str(run_directory), str(logs_directory)]})

    def fail(self, reason: str, status: str = "FAILED") -> None:
        """End a run that was not completed; `status` is FAILED or KILLED."""
        self._end({"fail": reason[:1000], "status": status})

    def __enter__(self) -> Self:
        """Use it as a context, so that the run is always ended in MLflow."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the run as failed, or as killed on Ctrl-C, unless `finish` or `fail` was called."""
        if self._writer is not None:
            stopped = kind is not None and not issubclass(kind, Exception)
            self.fail(f"{kind.__name__}: {error}" if kind else "left unfinished", "KILLED" if stopped else "FAILED")

    def _send(self, message: dict[str, Any]) -> None:
        """Write one line, or drop it. The line end in front separates it from one that a full pipe has cut."""
        if self._writer is None or self._writer.stdin is None:
            return
        try:
            os.write(self._writer.stdin.fileno(), f"\n{json.dumps(message, default=str)}\n".encode())
        except (BlockingIOError, BrokenPipeError):
            return  # the pipe is full, or the writer has ended with a message; history.csv has the values

    def _end(self, message: dict[str, Any]) -> None:
        """Wait for room in the pipe, send the last message, and let the writer end, by force if need be."""
        writer, until = self._writer, time.monotonic() + self._patience
        if writer is None or writer.stdin is None:
            return
        with selectors.DefaultSelector() as room:
            room.register(writer.stdin, selectors.EVENT_WRITE)
            room.select(self._patience)
        self._send(message)
        self._writer = None
        with contextlib.suppress(BrokenPipeError):  # nothing is buffered, so nothing can be lost in closing
            writer.stdin.close()
        try:
            writer.wait(max(until - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            writer.kill()
            writer.wait()
            _warn(f"MLflow took more than {self._patience:g} seconds; `{place.AGAIN}` brings this run in later")


def _start_writer() -> subprocess.Popen[bytes] | None:
    """Start the process that logs; warn and return None where it cannot be started."""
    if os.environ.get(OFF) == "off":
        return None
    if not place.installed():
        _warn(f"MLflow is not installed: this run is not logged live; `{place.AGAIN}` can bring it in once it is")
        return None
    package = str(Path(mtbert.__file__).parents[1])  # the same code, also where only this process's path has it
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "mtbert.tracking.writer"]
    try:
        # A session of its own: Ctrl-C is meant for the training, which then ends the run.
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
    except OSError as error:
        _warn(f"this run is not logged live ({error}); `{place.AGAIN}` brings it in later")
        return None


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)
