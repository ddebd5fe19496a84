"""Log the runs of a build directory that MLflow lacks: not logged live, or restored from DVC's cache."""

from pathlib import Path

from mtbert import layout
from mtbert.command import locking
from mtbert.errors import MtbertError
from mtbert.tracking import record, store
from mtbert.tracking.store import Store, TrackingError

LOCK = "mlflow.db.track.lock"  # in the repository: two `track` at once would both find a run missing
NO_MODELS = "\nwarning: no models are logged, since the server has no place for them; that of MLflow 3 has"


def sync_runs(build: Path) -> str:
    """Log every selected run of `build` and its baselines to MLflow, once and completely, and their models.

    Returns: how many were logged now, were there already, and are not trained.

    Raises:
        TrackingError: MLflow cannot be reached, or refuses. Runs logged before the error stay.
    """
    catalog = record.read_catalog(build)
    selected = [name for name, entry in catalog["variants"].items() if entry["selected"]]
    directories = [layout.run(build, name, seed) for seed in catalog["seeds"] for name in selected]
    trained = [record.of_run(run, catalog) for run in directories if (run / layout.METRICS).is_file()]
    records = [*trained, *(record.of_baseline(folder, catalog) for folder in layout.baselines_of(build, "*"))]
    uri = store.tracking_uri()
    try:
        with locking.exclusive(store.project_root() / LOCK, "track"):
            from mtbert.tracking import models  # with MLflow

            tracker = Store(uri)
            new = sum(tracker.log(finished) for finished in records)
            has_models = models.bring(tracker, records)
    except MtbertError:  # of a file; MLflow does not matter for it
        raise
    except Exception as error:  # of MLflow, its database or the network: many types, with one message
        raise TrackingError(
            f"the runs are not in MLflow at {store.shown(uri)} yet ({store.reason(error, uri)}); "
            f"their results are safe in {build}: once MLflow answers, `{store.COMMAND}` brings them in"
        ) from None  # the cause's own text may hold credentials
    summary = f"runs in MLflow: {new} new, {len(records) - new} already there"
    untrained = len(directories) - len(trained)
    if untrained:
        summary += f", {untrained} not trained yet"
    return summary if has_models else summary + NO_MODELS
