"""Log a run to MLflow while it trains, by MLflow's own threads. It fails no training, and needs no MLflow."""

import functools
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mtbert import credentials
from mtbert.tracking import record, store

OFF = "MTBERT_LIVE"  # set to `off` to train without a live log; `track` logs the runs afterwards


def _bounded(act: Callable[..., None]) -> Callable[..., None]:
    """Have a method do nothing where the log is off; an error is printed in one line, and ends the log alone."""

    @functools.wraps(act)
    def bounded(run: "LiveRun", *given: Any) -> None:
        try:
            if run.is_on:
                act(run, *given)
        except Exception as error:  # of MLflow, its database or the network: many types, with one message
            run.is_on = False
            at = f" at {store.shown(run.uri)}" if run.uri else ""
            print(
                f"warning: this run is not logged to MLflow{at} any further ({store.reason(error, run.uri)}); the "
                f"training goes on, and `{store.AGAIN}` brings the run in later",
                file=sys.stderr,
                flush=True,
            )

    return bounded


class LiveRun(AbstractContextManager):
    """A run of MLflow while it trains. Whatever MLflow does costs a warning, and the time of one request at most."""

    def __init__(self, settings: Mapping[str, Any], seed: int, build: Path = Path("build")) -> None:
        """Describe a run, as for `record.begun`; `with` begins it."""
        self._about = dict(settings), seed, build
        self.is_on = os.environ.get(OFF) != "off"
        self.uri = ""

    def __enter__(self) -> "LiveRun":
        """Begin the run, in the place of that of a training that was broken off."""
        self._begin()
        return self

    @_bounded
    def _begin(self) -> None:
        import mlflow

        self._mlflow, self.uri = mlflow, store.tracking_uri()
        self._store = store.Store(self.uri)
        self._run = self._store.begin(record.begun(*self._about))
        mlflow.start_run(self._run, log_system_metrics=True)

    @_bounded
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log the values of a step, such as `{"loss/sst": 0.7}`; returns at once."""
        self._mlflow.log_metrics({name: float(value) for name, value in values.items()}, step, synchronous=False)

    @_bounded
    def finish(self, run_directory: Path) -> None:
        """Complete the run from its written directory, see `record.of_run`."""
        self._end("FINISHED")
        self._store.complete(self._run, record.of_run(run_directory))

    @_bounded
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """End the run as failed, or as killed on Ctrl-C, unless `finish` was called."""
        reason = credentials.masked(f"{kind.__name__}: {error}" if kind else "left unfinished")
        self._mlflow.set_tag("ended_by", reason[: record.LONGEST_TAG])
        self._end("KILLED" if kind and not issubclass(kind, Exception) else "FAILED")

    def _end(self, status: str) -> None:
        """Send what waits, within MLflow's limits for a request, and end the run."""
        self.is_on = False
        self._mlflow.flush_async_logging()
        self._mlflow.end_run(status)
