"""Log a run to MLflow while it trains: never waits, never fails, needs no MLflow.

A thread sends what has come in the last seconds. It is not MLflow's own queue (`synchronous=False`): that has no bound,
and a process waits for it at its exit however long a server takes.
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtbert.tracking import place, record
from mtbert.tracking.record import Point

if TYPE_CHECKING:
    from mtbert.tracking.store import Store

OFF = "MTBERT_LIVE"  # set to `off` to train without a live log; `track` logs the runs afterwards
INTERVAL = 5.0  # seconds over which values are collected before they are sent
PATIENCE = 10.0  # most seconds that the end of a training waits for MLflow
MOST = 100_000  # values that wait to be sent; beyond, the oldest are dropped here and taken from history.csv at the end
End = Callable[["Store", str, set[tuple[str, int]]], None]


class LiveRun(AbstractContextManager):
    """A run that is logged by a thread, which ends with the process, whatever MLflow does."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        seed: int,
        build: Path = Path("build"),
        silent: bool = False,
    ) -> None:
        """Start logging a run.

        Args:
            settings, seed, build: see `record.card`.
            silent: log nothing, since another process of the same run does.
        """
        self._about = dict(settings), seed, build
        self._waiting: deque[Point] = deque(maxlen=MOST)
        self._end: End | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._is_on = not silent and os.environ.get(OFF) != "off"
        if self._is_on:
            self._thread.start()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log the values of a step, such as `{"loss/sst": 0.7}`; returns at once."""
        now = time.time_ns() // 1_000_000
        self._waiting += [Point(name, step, value, now) for name, value in values.items()]

    def finish(self, run_directory: Path, logs_directory: Path) -> None:
        """Complete the run from its written directories, see `record.of_run`; waits a bounded time."""
        self._stop(lambda store, *run: store.complete(run[0], record.of_run(run_directory, logs_directory), run[1]))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """End the run as failed, or as killed on Ctrl-C, unless `finish` was called."""
        if self._end is None:
            reason = f"{kind.__name__}: {error}" if kind else "left unfinished"
            status = "KILLED" if kind and not issubclass(kind, Exception) else "FAILED"
            self._stop(lambda store, run_id, _: store.end(run_id, status, reason))

    def _stop(self, end: End) -> None:
        self._end = end
        self._ended.set()
        if not self._is_on:
            return
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            _warn(f"MLflow took more than {PATIENCE:g} seconds; `{place.AGAIN}` brings this run in later")

    def _follow(self) -> None:
        """Log the run, in the thread; an error of MLflow is printed in one line and ends the log alone."""
        if not place.installed():
            return _warn(f"MLflow is not installed: this run is not logged; `{place.AGAIN}` can bring it in once it is")
        uri = ""
        try:
            uri = place.tracking_uri()
            self._log(uri)
        except Exception as error:  # of MLflow, its database or the network: many types, with one message
            at = f" at {place.shown(uri)}" if uri else ""
            _warn(
                f"this run is not logged to MLflow{at} any further ({place.reason(error, uri)}); the training goes on, "
                f"and `{place.AGAIN}` brings the run in later"
            )

    def _log(self, uri: str) -> None:
        from mtbert.tracking.store import Store, SystemMetricsMonitor  # MLflow, which takes seconds

        store = Store(uri)
        run_id, logged = store.begin(record.card(*self._about)), set[tuple[str, int]]()
        machine = SystemMetricsMonitor(run_id, tracking_uri=uri)  # processor, memory, GPU every ten seconds
        machine.start()
        while self._end is None:
            self._ended.wait(INTERVAL)
            points = [self._waiting.popleft() for _ in range(len(self._waiting))]
            store.log(run_id, [point for point in points if point[:2] not in logged])
            logged.update(point[:2] for point in points)
        machine.finish()
        self._end(store, run_id, logged)


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr, flush=True)
