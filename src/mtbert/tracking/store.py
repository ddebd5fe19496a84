"""The one module that imports MLflow, and so is itself imported only where MLflow is used.

A run is complete once it carries the tag `run_key`, the last thing that is written of it. Whatever breaks off before
leaves a run without that tag, which `bring_in` replaces.
"""

import logging
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from filelock import FileLock

from mtbert import files
from mtbert.tracking.place import database, project_root
from mtbert.tracking.record import LONGEST_TAG, Card, Contents, Input, Place, Point

# Set before MLflow is imported, which reads them then: nothing is reported to its makers.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["DO_NOT_TRACK"] = "true"
# Neither does it print where each run is to be seen, user and password included.
os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
# MLflow's own two minutes and seven retries would let a server that is away hold up `track` for half an hour.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, LifecycleStage, Metric, Param, RunTag
from mlflow.exceptions import MlflowException

# Faults are told once and by us; MLflow's and urllib3's own lines name the address with its password.
for _name in ("mlflow", "urllib3", "alembic"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


LOCKED = "database is locked"  # SQLite's words
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

    def __init__(self, uri: str) -> None:
        """Connect; an SQLite database that does not exist is created first."""
        _create(uri)
        self._client = MlflowClient(tracking_uri=uri)
        self._is_local = database(uri) is not None

    def begin(self, card: Card, started: int | None = None) -> str:
        """Start a run with its parameters and tags; returns its id."""
        experiment = self._experiment(card.experiment)
        run = self._client.create_run(experiment, start_time=started, tags=card.tags, run_name=card.name)
        self._client.log_batch(run.info.run_id, params=[Param(name, value) for name, value in card.params.items()])
        return run.info.run_id

    def log(self, run_id: str, points: Iterable[Point]) -> None:
        """Add points to a run; MLflow's client sends them in portions of a thousand."""
        metrics = [Metric(point.name, point.value, point.time, point.step) for point in points]
        self._client.log_batch(run_id, metrics=metrics)

    def complete(self, run_id: str, run_key: str, contents: Contents, logged: Collection[Place] = ()) -> None:
        """Add what `logged` does not name yet, end the run, and only then mark it as complete."""
        self.log(run_id, (point for point in contents.points if point.place not in logged))
        for folder, several in contents.artifacts.items():
            for file in several:
                self._client.log_artifact(run_id, str(file), folder or None)
        if contents.inputs:
            self._client.log_inputs(run_id, [_dataset(item) for item in contents.inputs])
        self._client.set_terminated(run_id, "FINISHED", contents.ended)
        self._client.set_tag(run_id, "run_key", run_key)

    def end(self, run_id: str, status: str, reason: str) -> None:
        """End a run that did not finish; `status` is FAILED or KILLED."""
        self._client.log_batch(run_id, tags=[RunTag("ended_by", reason[:LONGEST_TAG])])
        self._client.set_terminated(run_id, status)

    def find(self, card: Card) -> list[Found]:
        """Runs of the same settings and seed, oldest first."""
        experiment = self._experiment(card.experiment)
        query = f"tags.settings_key = '{card.settings_key}'"
        runs = self._client.search_runs([experiment], query, order_by=["attributes.start_time ASC"])
        return [Found(run.info.run_id, run.data.tags.get("run_key", "")) for run in runs]

    def delete(self, run_id: str) -> None:
        """Take a run out of sight (MLflow keeps deleted runs until its garbage is collected)."""
        self._client.delete_run(run_id)

    def _experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is None:
            return self._new_experiment(name)
        if found.lifecycle_stage == LifecycleStage.DELETED:  # its name stays taken, so it has to come back
            self._client.restore_experiment(found.experiment_id)
        return found.experiment_id

    def _new_experiment(self, name: str) -> str:
        place = (project_root() / "mlartifacts" / name).as_uri() if self._is_local else None
        try:
            return self._client.create_experiment(name, artifact_location=place)
        except MlflowException:
            found = self._client.get_experiment_by_name(name)
            if found is None:
                raise
            return found.experiment_id  # another training was quicker by a moment


def _dataset(item: Input) -> DatasetInput:
    source = "hf" if item.context == "encoder" else "local"
    data = Dataset(item.name, item.digest, source, item.source)
    return DatasetInput(data, tags=[InputTag("mlflow.data.context", item.context)])


def _create(uri: str) -> None:
    """Create an SQLite database if it is not there: under a lock, beside its place, and renamed into it.

    Several writers that MLflow lets create one database crash, and one that is killed meanwhile leaves half of it.
    """
    file = database(uri)
    if file is None or file.exists():
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
        store = SqlAlchemyStore(f"sqlite:///{workshop / file.name}", (project_root() / "mlartifacts").as_uri())
        store.engine.dispose()
        (workshop / file.name).replace(file)
        workshop.rmdir()
