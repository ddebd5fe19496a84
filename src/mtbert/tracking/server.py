"""Serve MLflow's pages on this machine, in this process: MLflow's command leaves another behind where it is killed."""

import errno
import os
import socket
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from mtbert import layout
from mtbert.errors import MtbertError
from mtbert.tracking import record, store, view
from mtbert.tracking.store import Store, TrackingError
from mtbert.tracking.sync_runs import sync_runs

HOST = "127.0.0.1"


def serve(build: Path, port: int) -> None:
    """Log what MLflow lacks of `build`, print the address of its runs, and serve them until Ctrl-C.

    Raises:
        TrackingError: the port is taken, or the runs are on a server.
    """
    uri = store.tracking_uri()
    if uri.startswith("http"):
        raise TrackingError(f"{store.URI} names a server: open its address, the runs are there")
    with _listen(port) as listening:
        tracker = Store(uri)
        experiment = _log_missing(tracker, build) if layout.runs(build).is_dir() else None
        app = _app(uri)
        import uvicorn  # comes with MLflow

        print(view.address(port, experiment), "- Ctrl-C ends it", flush=True)
        with suppress(KeyboardInterrupt):
            config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
            uvicorn.Server(config).run([listening])


def _listen(port: int) -> socket.socket:
    """Take the port before anything else, since all that follows takes seconds."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        another = f"another `make mlflow`, or another program; `make mlflow PORT={port + 1}` takes another port"
        raise TrackingError(f"port {port} is taken: {another}") from None


def _log_missing(tracker: Store, build: Path) -> str | None:
    """Log what MLflow lacks, and return the id of the experiment of `build`; a fault there is a warning."""
    try:
        print(sync_runs(build))
        name = record.experiment(record.read_catalog(build))
        experiment = tracker.client.get_experiment_by_name(name)
    except MtbertError as error:
        print(f"warning: {error}")
        return None
    return experiment and experiment.experiment_id


def _app(uri: str) -> Any:
    """Return MLflow's server, which reads where it finds the runs from the environment, as its own command sets it."""
    with warnings.catch_warnings(action="ignore"):  # of MLflow's own imports
        from mlflow.server import constants

        os.environ[constants.BACKEND_STORE_URI_ENV_VAR] = uri
        os.environ[constants.REGISTRY_STORE_URI_ENV_VAR] = uri
        os.environ[constants.SERVE_ARTIFACTS_ENV_VAR] = "true"
        from mlflow.server.fastapi_app import app
    return app
