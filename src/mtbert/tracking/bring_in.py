"""Log the runs of a build directory that MLflow lacks: not logged live, or restored from DVC's cache."""

from pathlib import Path

from mtbert import files, locking
from mtbert.errors import MtbertError
from mtbert.tracking import record, store
from mtbert.tracking.record import Record
from mtbert.tracking.store import Store, TrackingError

LOCK = "mlflow.db.track.lock"  # in the repository: two `track` at once would both find a run missing
NO_MODELS = "\nwarning: no models are logged, since the server has no place for them; that of MLflow 3 has"


def bring_in(build: Path) -> str:
    """Log every selected run of `build` to MLflow, once and completely, and the models of the runs.

    Returns: how many were logged now, were there already, and are not trained.

    Raises:
        TrackingError: MLflow cannot be reached, or refuses. Runs logged before the error stay.
    """
    catalog = files.read_plan(build / "plan" / "catalog.yaml", "seeds", "variants")
    selected = [name for name, entry in catalog["variants"].items() if entry["selected"]]
    directories = [build / "runs" / name / str(seed) for seed in catalog["seeds"] for name in selected]
    records = [record.of_run(run) for run in directories if (run / "metrics.json").is_file()]
    uri = store.tracking_uri()
    try:
        with locking.alone(store.project_root() / LOCK, "track"):
            there = Store(uri)
            new = sum(_bring(there, wanted) for wanted in records)
            trained = [wanted for wanted in records if (wanted.directory / "model.safetensors").is_file()]
            models = _bring_models(there, trained)
    except MtbertError:  # of a file; MLflow does not matter for it
        raise
    except Exception as error:  # of MLflow, its database or the network: many types, with one message
        raise TrackingError(
            f"the runs are not in MLflow at {store.shown(uri)} yet ({store.reason(error, uri)}); "
            f"their results are safe in {build}: once MLflow answers, `{store.AGAIN}` brings them in"
        ) from None  # the cause's own text may hold credentials
    left = len(directories) - len(records)
    untrained = f", {left} not trained yet" if left else ""
    return f"{new} new, {len(records) - new} already there{untrained}{'' if models else NO_MODELS}"


def _bring(there: Store, wanted: Record) -> bool:
    """Log a record if it is missing, and delete its copies; return whether it was missing."""
    complete, broken_off = there.find(wanted)
    if complete:
        there.delete([*complete[1:], *broken_off])  # a client begins a run twice where an answer was lost
        return False
    there.complete(there.begin(wanted), wanted)
    return True


def _bring_models(there: Store, records: list[Record]) -> bool:
    """Log and register a model of each record; return False where MLflow's server knows no models."""
    from mtbert.tracking import models

    try:
        for variant in dict.fromkeys(wanted.tags["variant"] for wanted in records):
            models.bring(there, [wanted for wanted in records if wanted.tags["variant"] == variant])
    except models.MlflowException as error:
        if error.error_code != "ENDPOINT_NOT_FOUND":
            raise
        return False
    return True
