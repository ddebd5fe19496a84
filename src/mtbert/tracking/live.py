"""Log a run to MLflow while it trains, by MLflow's own threads. It fails no training, and needs no MLflow."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mtbert import credentials
from mtbert.tracking import record, store
from mtbert.tracking.record import rounded

OFF = "MTBERT_LIVE"  # set to `off` to train without a live log; `track` logs the runs afterwards


class LiveRun(AbstractContextManager):
    """A run of MLflow while it trains. Whatever MLflow does costs a warning, and the time of one request at most."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        seed: int,
        build: Path = Path("build"),
        silent: bool = False,
    ) -> None:
        """Describe a run; `with` begins it.

        Args:
            settings, seed, build: see `record.card`.
            silent: log nothing, since another process of the same run does.
        """
        self._about = dict(settings), seed, build
        self._is_on = not silent and os.environ.get(OFF) != "off"
        self._uri = ""

    def __enter__(self) -> "LiveRun":
        """Begin the run, or go on with that of a training that was broken off."""
        self._try(self._begin)
        return self

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log the values of a step, such as `{"loss/sst": 0.7}`; returns at once."""
        self._try(lambda: self._queue(step, values))

    def finish(self, run_directory: Path, logs_directory: Path) -> None:
        """Complete the run from its written directories, see `record.of_run`."""
        self._try(lambda: self._complete(run_directory, logs_directory))
        self._is_on = False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """End the run as failed, or as killed on Ctrl-C, unless `finish` was called."""
        status = "KILLED" if kind and not issubclass(kind, Exception) else "FAILED"
        self._try(lambda: self._break_off(status, f"{kind.__name__}: {error}" if kind else "left unfinished"))

    def _try(self, act: Callable[[], None]) -> None:
        """Act where the log is on; an error is printed in one line, and ends the log alone."""
        try:
            if self._is_on:
                act()
        except Exception as error:  # of MLflow, its database or the network: many types, with one message
            self._is_on = False
            at = f" at {store.shown(self._uri)}" if self._uri else ""
            _warn(
                f"this run is not logged to MLflow{at} any further ({store.reason(error, self._uri)}); the training "
                f"goes on, and `{store.AGAIN}` brings the run in later"
            )

    def _begin(self) -> None:
        if not store.installed():
            self._is_on = False
            _warn(f"MLflow is not installed: this run is not logged; `{store.AGAIN}` can bring it in once it is")
            return
        import mlflow

        self._uri = store.tracking_uri()
        self._store = store.Store(self._uri)
        self._run = self._store.begin(record.begun(*self._about))
        self._logged = self._store.logged(self._run)
        mlflow.start_run(self._run, log_system_metrics=True)

    def _queue(self, step: int, values: Mapping[str, float]) -> None:
        import mlflow

        new = {name: rounded(name, value) for name, value in values.items() if (name, step) not in self._logged}
        mlflow.log_metrics(new, step, synchronous=False)

    def _end(self, status: str) -> None:
        """Send what waits, within MLflow's limits for a request, and end the run."""
        import mlflow

        mlflow.flush_async_logging()
        mlflow.end_run(status)

    def _complete(self, run_directory: Path, logs_directory: Path) -> None:
        self._end("FINISHED")
        self._store.complete(self._run, record.of_run(run_directory, logs_directory))

    def _break_off(self, status: str, reason: str) -> None:
        self._store.client.set_tag(self._run, "ended_by", credentials.masked(reason)[: record.LONGEST_TAG])
        self._end(status)


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr, flush=True)
