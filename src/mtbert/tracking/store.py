"""Where runs are tracked, and MLflow's client there. MLflow takes seconds to import: only functions import it.

A run is complete once it has the tag `run_key`, which is written last. One without it was broken off: the next training
of the same inputs replaces it.
"""

import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from mtbert import files
from mtbert.errors import MtbertError, masked
from mtbert.tracking import view
from mtbert.tracking.record import ABOUT, INPUTS, Record

if TYPE_CHECKING:
    from mlflow.entities import Run

URI = "MLFLOW_TRACKING_URI"
COMMAND = "mtbert track"  # which logs what is missing
RUN_KEY = "run_key"
ARTIFACTS = "mlartifacts"  # folder beside an SQLite database

# For MLflow, before it is imported: no reports to its makers, no addresses on the terminal, which may hold a password,
# less patience than half an hour with a server that is away, and no draw from Python's random numbers.
DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_ASYNC_LOGGING_BUFFERING_SECONDS": "3",  # so that a slow server is not behind for long
}
os.environ |= {**DEFAULTS, **os.environ}
for _name in ("urllib3", "alembic"):  # their lines would show the address, too
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class TrackingError(MtbertError):
    """MLflow cannot be reached, or refuses a request."""


def project_root() -> Path:
    """Return the repository: $DVC_ROOT (also under `dvc exp run --temp`), else this folder."""
    return Path(os.environ.get("DVC_ROOT", ".")).resolve()


def tracking_uri() -> str:
    """Return $MLFLOW_TRACKING_URI, else `mlflow.db` in the repository; relative SQLite files are in the repository."""
    uri = os.environ.get(URI) or "sqlite:///mlflow.db"
    file = database(uri)
    return _address(project_root() / file) if file else uri


def database(uri: str) -> Path | None:
    """Return the file of an SQLite address; None for servers."""
    if not uri.startswith("sqlite"):
        return None
    from sqlalchemy.engine import make_url  # comes with MLflow

    return Path(make_url(uri).database or "mlflow.db")


def _address(file: Path) -> str:
    """Return an SQLite file's address, with what a folder's name may hold escaped."""
    from sqlalchemy.engine import URL

    # With the driver named, MLflow makes no folder of the escaped name. Wait 60 seconds for SQLite's lock.
    return URL.create("sqlite+pysqlite", database=str(file), query={"timeout": "60"}).render_as_string()


def place(uri: str) -> str:
    """Return an address for messages: the database's file, or the variable that holds it, perhaps with a password."""
    return str(database(uri) or URI)


def reason(error: BaseException, uri: str) -> str:
    """Return the first line of what an error goes back to, without credentials: `ConnectionRefusedError: [Errno 111]`.

    The errors of MLflow and requests around it hold the address, and perhaps a token in its path.
    """
    while not uri.startswith("sqlite") and (below := error.__cause__ or error.__context__):
        error = below
    line = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
    return masked(line.replace(uri, place(uri)) if uri else line)[:300]


def create(file: Path) -> None:
    """Create an SQLite database if it is missing: under a lock and another name, then rename it.

    If several processes create one database by MLflow, they crash, and a killed one leaves an unfinished database.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{file}.lock"):
        if file.exists():
            return
        # a folder, since SQLite's journal lies beside
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".mlflow.", suffix=files.PARTIAL) as folder:
            partial = Path(folder, file.name)
            SqlAlchemyStore(_address(partial), file.with_name(ARTIFACTS).as_uri()).engine.dispose()
            partial.replace(file)


class Store:
    """MLflow at one address. Every method may raise MlflowException."""

    def __init__(self, uri: str) -> None:
        """Connect, also for MLflow's functions without a client; create an SQLite database that does not exist."""
        import mlflow

        self._file = database(uri)
        if self._file:
            create(self._file)
        mlflow.set_tracking_uri(uri)
        mlflow.set_registry_uri(uri)
        self.client = mlflow.MlflowClient()

    def experiment(self, record: Record) -> str:
        """Return the id of a run's experiment; create it if it is missing, and have its page show the run's scores.

        MLflow stores where an experiment's files lie. In a database that was moved or copied this is the old folder,
        where nothing may be written: the experiment is kept under another name, and a new one begun.
        """
        name = record.experiment
        saved_view = view.saved(record.scores)
        location = (self._file.with_name(ARTIFACTS) / name).as_uri() if self._file else None
        with FileLock(f"{self._file or project_root() / 'mlflow.db'}.lock"):  # trainings begin side by side
            existing = self.client.get_experiment_by_name(name)
            if existing and location in (None, existing.artifact_location):
                if existing.tags.get(view.TAG) != saved_view:
                    self.client.set_experiment_tag(existing.experiment_id, view.TAG, saved_view)
                return existing.experiment_id
            if existing:
                self.client.rename_experiment(existing.experiment_id, f"{name} moved {existing.experiment_id}")
            tags = {"mlflow.note.content": ABOUT, view.TAG: saved_view}
            return self.client.create_experiment(name, location, tags)

    def find(self, record: Record) -> "tuple[list[Run], list[Run]]":
        """Return the complete runs of a record, and those of the same inputs that were broken off.

        There may be several complete ones, since a client begins a run twice where an answer was lost.
        """
        query = f"tags.{INPUTS} = '{record.tags[INPUTS]}'"
        runs = self.client.search_runs([self.experiment(record)], query)
        complete = [run for run in runs if run.data.tags.get(RUN_KEY) == record.run_key]
        broken_off = [run for run in runs if RUN_KEY not in run.data.tags]
        return complete, broken_off

    def begin(self, record: Record) -> str:
        """Start a run in the place of those that were broken off; return its id."""
        from mlflow.entities import Param
        from mlflow.tracking.context.registry import resolve_tags

        _, broken_off = self.find(record)
        self.delete(broken_off)
        tags = {**resolve_tags(), **record.tags}
        run = self.client.create_run(self.experiment(record), record.started, tags, record.name)
        self.client.log_batch(run.info.run_id, params=[Param(name, value) for name, value in record.params.items()])
        return run.info.run_id

    def delete(self, runs: "Iterable[Run]") -> None:
        """Hide runs; MLflow keeps their values until `mlflow gc`."""
        for run in runs:
            self.client.delete_run(run.info.run_id)

    def log(self, record: Record) -> bool:
        """Log a finished run once, and delete its copies and those that were broken off; return whether it was new."""
        from mlflow.entities import Metric

        complete, broken_off = self.find(record)
        if complete:
            self.delete([*complete[1:], *broken_off])
            return False
        run_id = self.begin(record)
        time = record.ended or 0  # the times of single steps are not stored
        metrics = [Metric(entry.name, float(entry.value), time, entry.step) for entry in record.entries]
        self.client.log_batch(run_id, metrics)
        self.client.set_terminated(run_id, "FINISHED", record.ended)
        self.client.set_tag(run_id, RUN_KEY, record.run_key)
        return True
