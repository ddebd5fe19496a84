"""MLflow's store of runs. Only this module and `models` import MLflow, so they are imported only where it is used.

A run is complete once it has the tag `run_key`, which is written last. One that was broken off lacks it, and is deleted
when a run of the same settings and seed begins.
"""

import logging
import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import nullcontext
from pathlib import Path

from filelock import FileLock

from mtbert import credentials, files
from mtbert.tracking.names import LONGEST_TAG, experiment_tags, rounded
from mtbert.tracking.place import database
from mtbert.tracking.record import Card, Point, Record

# MLflow reads these when it is imported: no reports to its makers, no addresses on the terminal, which may hold a
# password, less patience than half an hour with a server that is away, and no draw from Python's random numbers.
os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
os.environ |= {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true", "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0"}
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor as SystemMetricsMonitor
from mlflow.tracking.context.registry import resolve_tags

# We report errors once; lines of MLflow and urllib3 would show the address with its password.
for _name in ("mlflow", "urllib3", "alembic"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

RUN_KEY = "run_key"


class Store:
    """MLflow at one address. Every method may raise MlflowException."""

    def __init__(self, uri: str) -> None:
        """Connect; an SQLite database that does not exist is created first."""
        self.uri, self._file = uri, database(uri)
        if self._file is not None:
            create(self._file, uri)
        self.client = MlflowClient(uri, registry_uri=uri)

    def experiment(self, name: str) -> str:
        """Return the id of an experiment; create it if it is missing.

        MLflow stores where an experiment's files lie. In a database that was moved or copied this is the old folder,
        where nothing may be written: the experiment is kept under another name, and a new one begun.
        """
        location = (artifacts(self._file) / name).as_uri() if self._file else None
        with FileLock(f"{self._file}.lock") if self._file else nullcontext():
            found = self.client.get_experiment_by_name(name)
            if found and location in (None, found.artifact_location):
                return found.experiment_id
            if found:
                self.client.rename_experiment(found.experiment_id, f"{name} moved {found.experiment_id}")
            try:
                return self.client.create_experiment(name, location, experiment_tags())
            except MlflowException:
                if (found := self.client.get_experiment_by_name(name)) is None:
                    raise
                return found.experiment_id  # another training was faster

    def find(self, card: Card, run_key: str = "") -> tuple[list[Run], list[Run]]:
        """Return the complete runs with that key, and those of the same settings and seed that were broken off."""
        query = f"tags.settings_key = '{card.tags['settings_key']}'"
        runs = self.client.search_runs([self.experiment(card.experiment)], query)
        complete = [run for run in runs if RUN_KEY in run.data.tags and run.data.tags[RUN_KEY] == run_key]
        return complete, [run for run in runs if RUN_KEY not in run.data.tags]

    def begin(self, card: Card, started: int | None = None) -> str:
        """Start a run in the place of those that were broken off; return its id."""
        self.delete(self.find(card)[1])
        tags = {**resolve_tags(), **card.tags}
        run_id = self.client.create_run(self.experiment(card.experiment), started, tags, card.name).info.run_id
        self.client.log_batch(run_id, params=[Param(name, value) for name, value in card.params.items()])
        return run_id

    def delete(self, runs: Iterable[Run]) -> None:
        """Hide runs; MLflow keeps their values until `mlflow gc`."""
        for run in runs:
            self.client.delete_run(run.info.run_id)

    def log(self, run_id: str, points: Iterable[Point]) -> None:
        """Add points to a run."""
        if metrics := [Metric(one.name, rounded(one.name, one.value), one.time, one.step) for one in points]:
            self.client.log_batch(run_id, metrics=metrics)

    def complete(self, run_id: str, record: Record, logged: Collection[tuple[str, int]] = ()) -> None:
        """Add the values whose names and steps `logged` does not hold, end the run, and mark it as complete last."""
        self.log(run_id, [point for point in record.points if point[:2] not in logged])
        self.client.log_inputs(run_id, [_dataset(name, digest) for name, digest in record.data.items()])
        self.client.set_terminated(run_id, "FINISHED", record.ended)
        self.client.set_tag(run_id, RUN_KEY, record.run_key)

    def end(self, run_id: str, status: str, reason: str) -> None:
        """End a run that was broken off; `status` is FAILED or KILLED."""
        self.client.set_tag(run_id, "ended_by", credentials.masked(reason)[:LONGEST_TAG])
        self.client.set_terminated(run_id, status)


def _dataset(name: str, digest: str) -> DatasetInput:
    context = InputTag("mlflow.data.context", "training" if name.endswith("-train") else "evaluation")
    return DatasetInput(Dataset(name, digest[:36], "local", name), tags=[context])  # MLflow's limit for a digest


def artifacts(file: Path) -> Path:
    """Return the folder of artifacts of an SQLite database: beside it."""
    return file.resolve().parent / "mlartifacts"


def create(file: Path, uri: str) -> None:
    """Create an SQLite database if it is missing: under a lock and another name, then rename it.

    If several processes create one database by MLflow, they crash, and a killed one leaves an unfinished database.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy.engine import make_url

    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{file}.lock"):
        if file.exists():
            return
        workshop = file.with_name(f".{file.name}{files.PARTIAL}")  # a folder: SQLite's journal lies beside
        shutil.rmtree(workshop, ignore_errors=True)
        workshop.mkdir()
        address = make_url(uri).set(database=str(workshop / file.name)).render_as_string()
        SqlAlchemyStore(address, artifacts(file).as_uri()).engine.dispose()
        (workshop / file.name).replace(file)
        workshop.rmdir()
