"""Log what MLflow lacks of a build directory: merges, votes, baselines, and runs that were not logged live."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtbert import layout
from mtbert.errors import MtbertError
from mtbert.machine import locking
from mtbert.tracking import record, store
from mtbert.tracking.store import Store, TrackingError

LOCK = "mlflow.db.track.lock"  # in the repository: two `track` at once would both find a run missing
NO_MODELS = "\nwarning: no models are logged, since the server has no place for them; that of MLflow 3 has"


def sync_runs(build: Path) -> str:
    """Log every selected run, merge and vote of `build`, and its baselines, to MLflow, once and completely.

    It also registers each model that has weights.

    Returns: how many were logged now, were there already, and are not trained.

    Raises:
        TrackingError: MLflow cannot be reached, or refuses. Runs logged before the error stay.
    """
    catalog = record.read_catalog(build)
    runs = _folders(layout.runs(build), catalog["variants"], catalog)
    ensembles = [_folders(kind, catalog["ensembles"], catalog) for kind in (layout.merged(build), layout.votes(build))]
    folders = [folder for folder in (*runs, *itertools.chain(*ensembles)) if (folder / layout.METRICS).is_file()]
    records = [record.of_model(folder, catalog) for folder in (*folders, *layout.baselines_of(build, "*"))]
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
            f"the runs are not in MLflow at {store.place(uri)} yet ({store.reason(error, uri)}); "
            f"their results are safe in {build}: once MLflow answers, `{store.COMMAND}` brings them in"
        ) from None  # the cause's own text may hold credentials
    summary = f"runs in MLflow: {new} new, {len(records) - new} already there"
    untrained = len({*runs} - {*folders})
    if untrained:
        summary += f", {untrained} not trained yet"
    return summary if has_models else summary + NO_MODELS


def _folders(kind: Path, entries: Mapping[str, Any], catalog: Mapping[str, Any]) -> list[Path]:
    """Return the folders that a plan asks for of the models of a kind, there or not."""
    selected = [name for name, entry in entries.items() if entry["selected"]]
    return [kind / name / str(seed) for seed in catalog["seeds"] for name in selected]
