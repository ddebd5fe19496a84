"""The one module, beside `models`, that imports MLflow, and so is itself imported only where MLflow is used.

A run is complete once it carries the tag `run_key`, the last thing that is written of it. Whatever breaks off before
leaves a run without that tag, which `bring_in` replaces.
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

# Set before MLflow is imported, which reads them then: nothing is reported to its makers.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["DO_NOT_TRACK"] = "true"
# Neither does it print where each run is to be seen, user and password included.
os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
# MLflow's own two minutes and seven retries would let a server that is away hold up `track` for half an hour.
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

# Faults are told once and by us; MLflow's and urllib3's own lines name the address with its password.
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
SAMPLE = 10.0  # seconds between two looks at the machine
PORTION = 1000  # values that MLflow takes in one request
LONGEST_LOCK = 60.0  # seconds; MLflow itself gives up on a lock after 5 or 20
Result = TypeVar("Result")


def patiently(act: Callable[[], Result]) -> Result:
    """What `act` returns; where another process holds SQLite's lock, it is asked again for a minute."""
    until = time.monotonic() + LONGEST_LOCK
    while True:
        try:
            return act()
        except Exception as error:  # SQLAlchemy's or, with that one's text, MLflow's
            if LOCKED not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.1)  # in case that the refusal came at once


@dataclass(frozen=True)
class Found:
    """A run that MLflow has; `run_key` is empty where it is not complete."""

    run_id: str
    run_key: str


class Store:
    """MLflow at one URI. Every method may raise MlflowException."""

    def __init__(self, uri: str, progress: Callable[[], None] = lambda: None) -> None:
        """Connect; an SQLite database that does not exist is created first.

        Args:
            uri: of the server or database.
            progress: called whenever MLflow has answered.
        """
        self._file = database(uri)
        if self._file is not None:
            _create(self._file)
            _resettle(self._file)
        self.uri, self.progress = uri, progress
        self.client = MlflowClient(tracking_uri=uri)

    def begin(self, card: Card, started: int | None = None) -> str:
        """Start a run with its parameters and tags; returns its id."""
        experiment = self.experiment(card.experiment)
        run = self.client.create_run(experiment, start_time=started, tags=card.tags, run_name=card.name)
        self.progress()
        self.client.log_batch(run.info.run_id, params=[Param(name, value) for name, value in card.params.items()])
        return run.info.run_id

    def log(self, run_id: str, points: Iterable[Point]) -> None:
        """Add points to a run, in portions that MLflow takes at once."""
        metrics = [metric(point) for point in points]
        for start in range(0, len(metrics), PORTION):
            self.client.log_batch(run_id, metrics=metrics[start : start + PORTION])
            self.progress()

    def complete(self, run_id: str, run_key: str, contents: Contents, logged: Collection[Place] = ()) -> None:
        """Add what `logged` does not name yet, end the run, and only then mark it as complete."""
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

    def find(self, card: Card) -> list[Found]:
        """Runs of the same settings and seed, oldest first."""
        experiment = self.experiment(card.experiment)
        query = f"tags.settings_key = '{card.settings_key}'"
        runs = self.client.search_runs([experiment], query, order_by=["attributes.start_time ASC"])
        self.progress()
        return [Found(run.info.run_id, run.data.tags.get("run_key", "")) for run in runs]

    def models(self, record: Record) -> list[LoggedModel]:
        """The models of a run, the latest first."""
        experiment = self.experiment(record.card.experiment)
        return self.client.search_logged_models([experiment], f"tags.run_key = '{record.run_key}'")

    def delete(self, run_id: str) -> None:
        """Delete a run's artifacts and take it out of sight (MLflow keeps its values until `mlflow gc`)."""
        if self.client.list_artifacts(run_id):
            place = self.client.get_run(run_id).info.artifact_uri
            get_artifact_repository(str(place), self.uri).delete_artifacts()
        self.client.delete_run(run_id)
        self.progress()

    def experiments(self) -> dict[str, str]:
        """Id of every experiment by its name, the one with the latest change first."""
        return {found.name: found.experiment_id for found in self.client.search_experiments(order_by=LATEST)}

    def experiment(self, name: str) -> str:
        """Id of an experiment, which is made where it is missing."""
        found = self.client.get_experiment_by_name(name) or self._new_experiment(name)
        if found.lifecycle_stage == LifecycleStage.DELETED:  # its name stays taken, so it has to come back
            self.client.restore_experiment(found.experiment_id)
        for tag, value in experiment_tags().items():
            if tag not in found.tags:  # what a person has changed stays
                self.client.set_experiment_tag(found.experiment_id, tag, value)
        self.progress()
        return found.experiment_id

    def _new_experiment(self, name: str) -> Experiment:
        place = (artifacts(self._file) / name).as_uri() if self._file else None
        try:
            return self.client.get_experiment(self.client.create_experiment(name, artifact_location=place))
        except MlflowException:
            found = self.client.get_experiment_by_name(name)
            if found is None:
                raise
            return found  # another training was quicker by a moment


class Machine:
    """Samples of processor, memory, disk, network and GPU of the whole machine, as MLflow's own monitor takes them.

    Not its thread, which would ask the server at every sample and could hold up the end of a run. GPUs need pynvml.
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
        """One sample, `system/...`, where SAMPLE seconds have passed since the last one."""
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
        """Tell a fault of a driver, psutil or the system, and look no more: it is no reason to end a run's log."""
        try:
            yield
        except Exception as error:
            self._monitor = None
            said = f"{type(error).__name__}: {error}"
            print(f"warning: MLflow is not told the machine's load any further ({said})", file=sys.stderr, flush=True)


def metric(
    point: Point, run_id: str | None = None, model_id: str | None = None, dataset: tuple[str, str] | None = None
) -> Metric:
    """A point as MLflow takes it; of a model, where it is one's score on a data set of that name and digest."""
    name, digest = dataset or (None, None)
    return Metric(point.name, point.value, point.time, point.step, model_id, name, digest, run_id)


def _dataset(item: Input) -> DatasetInput:
    source = "hf" if item.context == "encoder" else "local"
    data = Dataset(item.name, item.digest, source, item.source)
    return DatasetInput(data, tags=[InputTag("mlflow.data.context", item.context)])


def _create(file: Path) -> None:
    """Create an SQLite database if it is not there: under a lock, beside its place, and renamed into it.

    Several writers that MLflow lets create one database crash, and one that is killed meanwhile leaves half of it.
    """
    if file.exists():
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{file}.lock"):
        if file.exists():
            return
        # A folder, since SQLite's journal lies beside the database: what a kill has left of either must not be met.
        workshop = file.with_name(f".{file.name}{files.PARTIAL}")
        shutil.rmtree(workshop, ignore_errors=True)
        workshop.mkdir()
        store = SqlAlchemyStore(f"sqlite:///{workshop / file.name}", artifacts(file).as_uri())
        store.engine.dispose()
        (workshop / file.name).replace(file)
        workshop.rmdir()


def _resettle(file: Path) -> None:
    """Have an SQLite database name the artifacts beside it, after it was moved or copied from elsewhere.

    MLflow keeps absolute places only, and would go on to read and write at the old one.
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
