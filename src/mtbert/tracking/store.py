"""MLflow's store of runs. Only this module and `models` import MLflow, so they are imported only where it is used.

A run is complete once it has the tag `run_key`, which is written last. A run that was aborted before lacks the tag, and
`bring_in` replaces it.
"""

import importlib.util
import logging
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from filelock import FileLock

from mtbert import files
from mtbert.tracking.naming import NOTE, experiment_tags
from mtbert.tracking.place import artifacts, database
from mtbert.tracking.record import LONGEST_TAG, Card, Contents, Input, Place, Point, Record

# MLflow reads these when it is imported. They turn off reports to its makers.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["DO_NOT_TRACK"] = "true"
# It must not print the address of each run, which may hold user and password.
os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
# With MLflow's two minutes and seven retries a missing server would hold up `track` for half an hour.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")

from mlflow import MlflowClient
from mlflow.entities import (
    Dataset,
    DatasetInput,
    Experiment,
    InputTag,
    LifecycleStage,
    LoggedModel,
    Metric,
    Param,
    RunTag,
)
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

if TYPE_CHECKING:
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

# We report errors once; lines of MLflow and urllib3 would show the address with its password.
for _name in ("mlflow", "urllib3", "alembic"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


LOCATIONS = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
)
LOCKED = "database is locked"  # SQLite's words
LATEST = ["last_update_time DESC"]
SAMPLE = 10.0  # seconds between two samples of the machine
PORTION = 1000  # values that MLflow takes in one request
LONGEST_LOCK = 60.0  # seconds; MLflow itself gives up on a lock after 5 or 20
Result = TypeVar("Result")


def patiently(act: Callable[[], Result]) -> Result:
    """Return the result of `act`; while another process holds SQLite's lock, try again for a minute."""
    until = time.monotonic() + LONGEST_LOCK
    while True:
        try:
            return act()
        except Exception as error:  # SQLAlchemy's or, with that one's text, MLflow's
            if LOCKED not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.1)  # in case the refusal came at once


@dataclass(frozen=True)
class LoggedRun:
    """A run in MLflow; `run_key` is empty until it is complete."""

    run_id: str
    run_key: str


class Store:
    """MLflow at one URI. Every method may raise MlflowException."""

    def __init__(self, uri: str, progress: Callable[[], None] = lambda: None) -> None:
        """Connect; an SQLite database that does not exist is created first.

        Args:
            uri: address of the server or database.
            progress: called after every answer of MLflow.
        """
        self._file = database(uri)
        if self._file is not None:
            _create(self._file)
            _resettle(self._file)
        self.uri, self.progress = uri, progress
        self.client = MlflowClient(tracking_uri=uri)

    def begin(self, card: Card, started: int | None = None) -> str:
        """Start a run with its parameters and tags; return its id."""
        experiment = self.experiment(card.experiment)
        run = self.client.create_run(experiment, start_time=started, tags=card.tags, run_name=card.name)
        self.progress()
        self.client.log_batch(run.info.run_id, params=[Param(name, value) for name, value in card.params.items()])
        return run.info.run_id

    def log(self, run_id: str, points: Iterable[Point]) -> None:
        """Add points to a run, in portions that MLflow accepts."""
        metrics = [metric(point) for point in points]
        for start in range(0, len(metrics), PORTION):
            self.client.log_batch(run_id, metrics=metrics[start : start + PORTION])
            self.progress()

    def complete(self, run_id: str, run_key: str, contents: Contents, logged: Collection[Place] = ()) -> None:
        """Add what `logged` does not list, end the run, and mark it as complete last."""
        self.log(run_id, (point for point in contents.points if point.place not in logged))
        for folder, several in contents.artifacts.items():
            for file in several:
                self.client.log_artifact(run_id, str(file), folder or None)
                self.progress()
        if contents.inputs:
            self.client.log_inputs(run_id, [_dataset(item) for item in contents.inputs])
        if contents.note:
            self.client.set_tag(run_id, NOTE, contents.note)
        self.client.set_terminated(run_id, "FINISHED", contents.ended)
        self.client.set_tag(run_id, "run_key", run_key)

    def end(self, run_id: str, status: str, reason: str) -> None:
        """End a run that did not finish; `status` is FAILED or KILLED."""
        self.client.log_batch(run_id, tags=[RunTag("ended_by", reason[:LONGEST_TAG])])
        self.client.set_terminated(run_id, status)

    def find(self, card: Card) -> list[LoggedRun]:
        """Return the runs of the same settings and seed, oldest first."""
        experiment = self.experiment(card.experiment)
        query = f"tags.settings_key = '{card.settings_key}'"
        runs = self.client.search_runs([experiment], query, order_by=["attributes.start_time ASC"])
        self.progress()
        return [LoggedRun(run.info.run_id, run.data.tags.get("run_key", "")) for run in runs]

    def models(self, record: Record) -> list[LoggedModel]:
        """Return the models of a run, the latest first."""
        experiment = self.experiment(record.card.experiment)
        return self.client.search_logged_models([experiment], f"tags.run_key = '{record.run_key}'")

    def delete(self, run_id: str) -> None:
        """Delete a run's artifacts and hide the run (MLflow keeps its values until `mlflow gc`)."""
        if self.client.list_artifacts(run_id):
            place = self.client.get_run(run_id).info.artifact_uri
            get_artifact_repository(str(place), self.uri).delete_artifacts()
        self.client.delete_run(run_id)
        self.progress()

    def experiments(self) -> dict[str, str]:
        """Return the id of every experiment by its name, the last changed first."""
        return {one.name: one.experiment_id for one in self.client.search_experiments(order_by=LATEST)}

    def experiment(self, name: str) -> str:
        """Return the id of an experiment; create it if it is missing."""
        experiment = self.client.get_experiment_by_name(name) or self._new_experiment(name)
        if experiment.lifecycle_stage == LifecycleStage.DELETED:  # its name is taken, so it has to be restored
            self.client.restore_experiment(experiment.experiment_id)
        for tag, value in experiment_tags().items():
            if tag not in experiment.tags:  # changes by people are kept
                self._tag(experiment.experiment_id, tag, value)
        self.progress()
        return experiment.experiment_id

    def _new_experiment(self, name: str) -> Experiment:
        place = (artifacts(self._file) / name).as_uri() if self._file else None
        try:
            # The tags with the experiment, so that others that start now find them and set none.
            return self.client.get_experiment(self.client.create_experiment(name, place, experiment_tags()))
        except MlflowException:
            existing = self.client.get_experiment_by_name(name)
            if existing is None:
                raise
            return existing  # another training was faster

    def _tag(self, experiment_id: str, tag: str, value: str) -> None:
        try:
            self.client.set_experiment_tag(experiment_id, tag, value)
        except MlflowException:
            if tag not in self.client.get_experiment(experiment_id).tags:
                raise  # else another training was faster


class Machine:
    """Samples of processor, memory, disk, network and GPU of the whole machine, as MLflow's own monitor takes them.

    Its thread is not used: it would ask the server at every sample and could delay the end of a run. GPUs need pynvml.
    """

    def __init__(self, uri: str) -> None:
        self._monitor: SystemMetricsMonitor | None = None
        self._due, self._samples = 0.0, 0
        if importlib.util.find_spec("psutil") is None:
            return
        with self._shielded():
            from mlflow.system_metrics import system_metrics_monitor as own

            self._monitor = own.SystemMetricsMonitor("", tracking_uri=uri)
            self._sample()  # the processor's load is since the sample before

    def points(self) -> list[Point]:
        """Take a sample, `system/...`, if SAMPLE seconds have passed since the last one."""
        values: dict[str, float] = {}
        if self._monitor is not None and time.monotonic() >= self._due:
            self._due, self._samples = time.monotonic() + SAMPLE, self._samples + 1
            with self._shielded():
                values = self._sample()
        now = time.time_ns() // 1_000_000
        return [Point(f"system/{name}", self._samples, float(value), now) for name, value in values.items()]

    def _sample(self) -> dict[str, float]:
        if self._monitor is None:
            return {}
        self._monitor.collect_metrics()
        values = self._monitor.aggregate_metrics()
        for part in self._monitor.monitors:
            part.clear_metrics()
        return values

    @contextmanager
    def _shielded(self) -> Iterator[None]:
        """Report an error of a driver, psutil or the system, and stop sampling: the run's log goes on."""
        try:
            yield
        except Exception as error:
            self._monitor = None
            reason = f"{type(error).__name__}: {error}"
            print(f"warning: MLflow gets no more figures of the machine's load ({reason})", file=sys.stderr, flush=True)


def metric(
    point: Point, run_id: str | None = None, model_id: str | None = None, dataset: tuple[str, str] | None = None
) -> Metric:
    """Return a point as MLflow's metric; for a model's score with the name and digest of its data set."""
    name, digest = dataset or (None, None)
    return Metric(point.name, point.value, point.time, point.step, model_id, name, digest, run_id)


def _dataset(item: Input) -> DatasetInput:
    source = "hf" if item.context == "encoder" else "local"
    data = Dataset(item.name, item.digest, source, item.source)
    return DatasetInput(data, tags=[InputTag("mlflow.data.context", item.context)])


def _create(file: Path) -> None:
    """Create an SQLite database if it is missing: under a lock and another name, then rename it.

    If several writers create one database by MLflow, they crash, and a killed one leaves an unfinished database.
    """
    if file.exists():
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{file}.lock"):
        if file.exists():
            return
        # A folder, since SQLite's journal is beside the database, and neither may be left over from a killed process.
        workshop = file.with_name(f".{file.name}{files.PARTIAL}")
        shutil.rmtree(workshop, ignore_errors=True)
        workshop.mkdir()
        store = SqlAlchemyStore(f"sqlite:///{workshop / file.name}", artifacts(file).as_uri())
        store.engine.dispose()
        (workshop / file.name).replace(file)
        workshop.rmdir()


def _resettle(file: Path) -> None:
    """Point an SQLite database to the artifacts beside it, after it was moved or copied.

    MLflow stores absolute paths only, and would still read and write at the old one.
    """
    here, folder = artifacts(file).parent.as_uri(), f"/{artifacts(file).name}/"
    with closing(sqlite3.connect(file)) as connection:
        places = [place for (place,) in connection.execute("select artifact_location from experiments") if place]
        owners = {place.rpartition(folder)[0] for place in places if place.startswith("file:") and folder in place}
        if owners <= {here}:
            return
        with connection:  # all of it or nothing
            for old in (f"{owner}{folder}" for owner in owners - {here}):
                for table, column in LOCATIONS:
                    connection.execute(
                        f"update {table} set {column} = ? || substr({column}, ?) where substr({column}, 1, ?) = ?",
                        (f"{here}{folder}", len(old) + 1, len(old), old),
                    )
