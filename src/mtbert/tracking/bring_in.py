"""Log the runs of a build directory that MLflow lacks: not logged live, or restored from DVC's cache."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from filelock import FileLock

from mtbert import files
from mtbert.errors import MtbertError
from mtbert.tracking import place, record
from mtbert.tracking.place import TrackingError
from mtbert.tracking.record import Record

if TYPE_CHECKING:
    from mtbert.tracking.store import Store

LOCK = "mlflow.db.track.lock"  # in the repository: two `track` at once would both find a run missing
PATIENCE = 600.0  # most seconds that a server may take for a run, or for a model with its weights
NO_MODELS = "\nwarning: no models are logged, since the server has no place for them; that of MLflow 3 has"
Result = TypeVar("Result")


class Summary(NamedTuple):
    """Numbers of runs that were logged now, were there already, and are not trained; whether MLflow takes models."""

    new: int
    present: int
    untrained: int
    models: bool

    def __str__(self) -> str:
        untrained = f", {self.untrained} not trained yet" if self.untrained else ""
        return f"{self.new} new, {self.present} already there{untrained}{'' if self.models else NO_MODELS}"


def bring_in(build: Path) -> Summary:
    """Log every selected run and ensemble of `build` to MLflow, once and completely, and the models of the runs.

    Raises:
        TrackingError: MLflow is not installed, cannot be reached, or refuses. Runs logged before the error stay.
    """
    if not place.installed():
        raise TrackingError(f"MLflow is not installed; `{place.AGAIN}` brings the runs in once it is")
    selected = _selected(build)
    records = [read(directory) for directory, read in selected.items() if (directory / "metrics.json").is_file()]
    uri = place.tracking_uri()
    try:
        with FileLock(place.project_root() / LOCK):
            from mtbert.tracking.store import Store

            patience = PATIENCE if place.is_server(uri) else None  # a file answers, and its lock has a limit
            store = within(patience, partial(Store, uri))
            new = sum(within(patience, partial(_bring, store, wanted)) for wanted in records)
            models = _bring_models(store, [wanted for wanted in records if wanted.directory], patience)
    except MtbertError:  # of a file; MLflow does not matter for it
        raise
    except Exception as error:  # of MLflow, its database or the network: many types, with one message
        raise TrackingError(
            f"the runs are not in MLflow at {place.shown(uri)} yet ({place.reason(error, uri)}); "
            f"their results are safe in {build}: once MLflow answers, `{place.AGAIN}` brings them in"
        ) from None  # the cause's own text may hold credentials
    return Summary(new, len(records) - new, len(selected) - len(records), models)


def _selected(build: Path) -> dict[Path, Callable[[Path], Record]]:
    """Return the directory of every selected run and ensemble, with a function that reads it."""
    catalog = files.read_plan(build / "plan" / "catalog.yaml", "seeds", "variants")
    selected: dict[Path, Callable[[Path], Record]] = {}
    for seed in map(str, catalog["seeds"]):
        for name, entry in catalog["variants"].items():
            if entry["selected"]:
                selected[build / "runs" / name / seed] = lambda run: record.of_run(run, files.log_directory(build, run))
        for name, entry in (catalog.get("ensembles") or {}).items():
            if entry["selected"]:
                read = partial(record.of_ensemble, entry=entry, profile=catalog["profile"])
                selected[build / "ensembles" / name / seed] = read
    return selected


def _bring(store: "Store", wanted: Record) -> bool:
    """Log a record if it is missing, and delete its copies; return whether it was missing."""
    complete, broken_off = store.find(wanted.card, wanted.run_key)
    if complete:
        store.delete([*complete[1:], *broken_off])  # a client begins a run twice where an answer was lost
        return False
    store.complete(store.begin(wanted.card, wanted.started), wanted)
    return True


def _bring_models(store: "Store", records: list[Record], patience: float | None) -> bool:
    """Log and register a model of each record; return False where MLflow's server knows no models."""
    if not records:
        return True
    from mtbert.tracking import models

    variants: dict[str, list[Record]] = {}
    for wanted in records:
        variants.setdefault(wanted.card.tags["variant"], []).append(wanted)
    try:
        for several in variants.values():
            made = [within(patience, partial(models.bring, store, wanted)) for wanted in several]
            within(patience, partial(models.register, store, several[0].card, made))
    except models.MlflowException as error:
        if error.error_code != "ENDPOINT_NOT_FOUND":
            raise
        return False
    return True


def within(seconds: float | None, act: Callable[[], Result]) -> Result:
    """Return the result of `act`; TimeoutError where it takes longer, as with a server that sends a byte a second.

    The thread that waits for such a server ends with the process.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(act())
        except BaseException as error:  # for the caller's thread
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    if not wait([outcome], seconds).done:
        raise TimeoutError(f"no complete answer within {seconds} seconds")
    return outcome.result()
