"""Log the runs of a build directory that MLflow lacks: not logged live, or restored from DVC's cache."""

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from filelock import FileLock

from mtbert import files
from mtbert.errors import MtbertError
from mtbert.tracking import place, record
from mtbert.tracking.place import TrackingError
from mtbert.tracking.record import Record

if TYPE_CHECKING:
    from mtbert.tracking.store import Store

LOCK = "mlflow.db.track.lock"  # in the repository: two `track` at once would both find a run missing
PATIENCE = 120.0  # most seconds without a complete answer of a server
Result = TypeVar("Result")
Tick = Callable[[], None]  # signals progress


@dataclass(frozen=True)
class Summary:
    """Numbers of runs that were logged now, were there already, and are not trained; whether a report was logged."""

    new: int
    present: int
    untrained: int
    report: bool = False

    def __str__(self) -> str:
        untrained = f", {self.untrained} not trained yet" if self.untrained else ""
        report = "; the report's figures, too" if self.report else ""
        return f"{self.new} new, {self.present} already there{untrained}{report}"


def bring_in(build: Path) -> Summary:
    """Log every selected run and ensemble of `build` to MLflow, once and completely, and the last report's figures.

    Raises:
        TrackingError: MLflow is not installed, cannot be reached, or refuses. Runs logged before the error stay.
    """
    if not place.installed():
        raise TrackingError(f"MLflow is not installed; `{place.AGAIN}` brings the runs in once it is")
    selected = _selected(build)
    records = [read() for directory, read in selected.items() if (directory / "metrics.json").is_file()]
    uri = place.tracking_uri()
    try:
        with FileLock(place.project_root() / LOCK):
            import mtbert.tracking.store

            patience = PATIENCE if place.database(uri) is None else None  # a file answers, and its lock has a limit
            new, figures = within(patience, lambda tick: _mirror([records, _report(build)], uri, tick))
            if any(record.model for record in records):
                import mtbert.tracking.models  # noqa: F401, as above

                within(patience, lambda tick: _mirror_models(records, uri, tick))
    except MtbertError:  # of a file; MLflow does not matter for it
        raise
    except Exception as error:  # of MLflow, its database or the network: many types, with one message
        raise TrackingError(
            f"the runs are not in MLflow at {place.shown(uri)} yet ({place.reason(error, uri)}); "
            f"their results are safe in {build}: once MLflow answers, `{place.AGAIN}` brings them in"
        ) from None  # the cause's own text may hold credentials
    return Summary(new, len(records) - new, len(selected) - len(records), figures > 0)


def _selected(build: Path) -> dict[Path, Callable[[], Record]]:
    """Return the directory of every selected run and ensemble, with a function that reads it."""
    catalog = files.read_plan(build / "plan" / "catalog.yaml", "seeds", "variants")
    selected: dict[Path, Callable[[], Record]] = {}
    for seed in map(str, catalog["seeds"]):
        for name in _names(catalog["variants"]):
            directory = build / "runs" / name / seed
            selected[directory] = partial(_run, directory, build)
        for name in _names(catalog.get("ensembles") or {}):
            directory = build / "ensembles" / name / seed
            entry = catalog["ensembles"][name]
            selected[directory] = partial(record.of_ensemble, directory, entry, catalog["profile"])
    return selected


def _run(directory: Path, build: Path) -> Record:
    return record.of_run(directory, files.log_directory(build, directory))


def _report(build: Path) -> list[Record]:
    """Return the report of the build's profile, if it was made."""
    profile = files.read_yaml(build / "plan" / "catalog.yaml")["profile"]
    directory = files.report_directory(build, Path("reports"))
    return [record.of_report(directory, profile)] if (directory / "index.html").is_file() else []


def _names(entries: dict[str, dict[str, object]]) -> list[str]:
    return [name for name, entry in entries.items() if entry["selected"]]


def within(patience: float | None, work: Callable[[Tick], Result]) -> Result:
    """Return the result of `work`; TimeoutError where it neither ends nor signals progress for `patience` seconds.

    A limit on each read would not suffice: a server may send a byte a second without end. The thread that waits for
    such a server ends with the process. Without `patience` there is no limit.
    """
    events: queue.SimpleQueue[Callable[[], Result] | None] = queue.SimpleQueue()

    def act() -> None:
        try:
            result = work(lambda: events.put(None))
            events.put(lambda: result)
        except Exception as error:  # for the caller's thread
            events.put(partial(_raise, error))

    threading.Thread(target=act, daemon=True).start()
    while True:
        try:
            outcome = events.get(timeout=patience)
        except queue.Empty:
            raise TimeoutError(f"no complete answer within {patience:g} seconds") from None
        if outcome is not None:
            return outcome()


def _raise(error: Exception) -> NoReturn:
    raise error


def _mirror(groups: Iterable[Iterable[Record]], uri: str, tick: Tick) -> list[int]:
    """Log each record that MLflow lacks; return their number in each group."""
    from mtbert.tracking.store import Store, patiently

    store = patiently(partial(Store, uri, tick))
    return [sum(patiently(partial(_bring, store, wanted)) for wanted in records) for records in groups]


def _mirror_models(records: Iterable[Record], uri: str, tick: Tick) -> None:
    """Log a model of each run that has weights, and a registered name for each variant."""
    from mtbert.tracking.models import Models, registered
    from mtbert.tracking.store import Store, patiently

    models = Models(patiently(partial(Store, uri, tick)))
    named: dict[str, list[Any]] = {}
    for wanted in records:
        if wanted.model is not None:
            made = patiently(partial(models.bring, wanted, wanted.model))
            named.setdefault(registered(wanted.card), []).append(made)
    for name, several in named.items():
        patiently(partial(models.register, name, several))


def _bring(store: "Store", wanted: Record) -> bool:
    """Log a record if it is missing, and delete what it replaces; return whether it was missing."""
    logged = store.find(wanted.card)
    missing = all(run.run_key != wanted.run_key for run in logged)
    if missing:
        contents = wanted.read()
        store.complete(store.begin(wanted.card, contents.started), wanted.run_key, contents)
        logged = store.find(wanted.card)  # again: MLflow's client may have begun two runs where an answer was lost
    # Replaced runs, copies and aborted runs are deleted last, so that the run is never missing.
    complete = [run.run_id for run in logged if run.run_key == wanted.run_key]
    outdated = [run.run_id for run in logged if not run.run_key or (wanted.replaces and run.run_key != wanted.run_key)]
    for run_id in [*complete[1:], *outdated]:
        store.delete(run_id)
    return missing
