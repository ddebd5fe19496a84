"""Open MLflow's own pages on the runs."""

import os
import sys

from mtbert.tracking import store


def serve(port: int) -> None:
    """Become MLflow's server, until Ctrl-C; TrackingError where the runs are on another server, or without MLflow."""
    if not store.installed():
        raise store.TrackingError("MLflow is not installed; `make setup` installs it")
    uri = store.tracking_uri()
    if (file := store.database(uri)) is None:
        raise store.TrackingError(f"the runs are on a server of their own: open {store.shown(uri)}")
    store.create(file)
    print(f"http://127.0.0.1:{port}/#/experiments?workflowType=machine_learning", flush=True)
    options = ["--backend-store-uri", uri, "--default-artifact-root", store.artifacts(file).as_uri()]
    command = [sys.executable, "-m", "mlflow", "ui", *options, "--port", str(port), "--workers", "1"]
    os.execve(sys.executable, command, {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"})
