"""Log a run to MLflow while it trains, by MLflow's own threads. It fails no training, and needs no MLflow."""

import functools
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtbert.errors import SettingsError
from mtbert.tracking import record, store

SWITCH = "MTBERT_LIVE"  # an environment variable: `off` trains without a live log; `track` logs the runs afterwards
BEGINS_AFTER = 30  # seconds of training; a shorter run is left to `track`, since importing MLflow takes seconds


def _bounded(act: Callable[..., None]) -> Callable[..., None]:
    """Have a method do nothing where the log is off; an error is printed in one line, and ends the log alone."""

    @functools.wraps(act)
    def bounded(run: "LiveRun", *arguments: Any) -> None:
        try:
            if run.is_on:
                act(run, *arguments)
        except Exception as error:  # of MLflow, its database or the network: many types, with one message
            run.is_on = False
            where = f" at {store.place(run.uri)}" if run.uri else ""
            print(
                f"warning: this run is not logged to MLflow{where} any further ({store.reason(error, run.uri)}); the "
                f"training goes on, and `{store.COMMAND}` brings the run in later",
                file=sys.stderr,
                flush=True,
            )

    return bounded


class LiveRun(AbstractContextManager):
    """A run of MLflow while it trains. Whatever MLflow does costs a warning, and the time of one request at most."""

    def __init__(self, settings: Mapping[str, Any], seed: int, made_from: str, build: Path = Path("build")) -> None:
        """Describe a run, as for `record.begun`; SettingsError where MTBERT_LIVE is neither `on` nor `off`."""
        switch = os.environ.get(SWITCH) or "on"
        if switch not in ("on", "off"):
            raise SettingsError(f"the environment variable {SWITCH} is {switch!r}; allowed: on, off")
        self._settings = dict(settings)
        self._seed = seed
        self._made_from = made_from
        self._build = build
        self.is_on = switch == "on"
        self.uri = ""
        self._started = time.time()
        self._run_id: str | None = None
        self._waiting: list[tuple[int, Mapping[str, float]]] = []  # steps, and the values of each

    @_bounded
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log the values of a step, such as `{"loss/sst": 0.7}`; returns at once, but for the first after 30 seconds.

        That begins the run, in the place of that of a training that was broken off, with all values so far.
        """
        self._waiting.append((step, values))
        if time.time() < self._started + BEGINS_AFTER:
            return
        if self._run_id is None:
            self._begin()
        for step, values in self._waiting:
            self._mlflow.log_metrics({name: float(value) for name, value in values.items()}, step, synchronous=False)
        self._waiting.clear()

    def _begin(self) -> None:
        import mlflow

        self._mlflow = mlflow
        self.uri = store.tracking_uri()
        self._catalog = record.read_catalog(self._build)
        self._store = store.Store(self.uri)
        begun = record.begun(self._settings, self._seed, self._made_from, self._catalog)
        self._run_id = self._store.begin(replace(begun, started=int(1000 * self._started)))
        mlflow.start_run(self._run_id, log_system_metrics=True)

    @_bounded
    def finish(self, run_directory: Path) -> None:
        """Put the whole run in the place of the live one, if that was begun, from its written directory."""
        if self._run_id is not None:
            self._end("FINISHED")
            self._store.log(record.of_run(run_directory, self._catalog))

    @_bounded
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """End the run as failed, or as killed on Ctrl-C, unless `finish` was called."""
        if self._run_id is not None:
            self._end("KILLED" if kind and not issubclass(kind, Exception) else "FAILED")

    def _end(self, status: str) -> None:
        """Send what waits, within MLflow's limits for a request, and end the run."""
        self.is_on = False
        self._mlflow.flush_async_logging()
        self._mlflow.end_run(status)
