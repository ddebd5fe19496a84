"""Describe a run for MLflow: its name, parameters, tags, values and data. Imports no MLflow."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files, layout
from mtbert.layout import HISTORY, METRICS, SETTINGS
from mtbert.provenance import inputs, seals
from mtbert.provenance.parameters import parameters, setting_text
from mtbert.scores.schemas import ModelMetrics, RunLog, read_log
from mtbert.tasks import COURSE, load_tasks
from mtbert.tracking import view
from mtbert.tracking.view import CHANGED

FILES = (SETTINGS, METRICS, HISTORY)  # of a run's directory; the rest is not opened here
LONGEST_CHANGES = 80  # characters of them in a run's name; the tag `changed` has more
PATH_DIGITS = 6  # hexadecimal, by which data folders of one name differ
LONGEST_TAG = 5000  # MLflow's limit
GROUPS = {
    "dev": "final/dev",
    "beside": "final/dev",
    "test": "final/test",
    "train": "final/train",
    "parameters": "parameters",
}
INPUTS = "inputs"  # tag
FINAL_STEP = 0  # MLflow draws bars of values that have no later step, and lines of others
TOTALS = {"seconds", "examples_per_second", "peak_memory_mb", "peak_gpu_memory_mb"}  # of a run's log
# MLflow shows this as the experiment's description.
ABOUT = "`final/...` is the result. `dev/...` are scores by which an epoch is chosen: compare no models by them."


class LogEntry(NamedTuple):
    """A value of a run at a step of a phase."""

    name: str
    step: int
    value: float
    phase: int = 1


@dataclass(frozen=True)
class Record:
    """A run; before its end without the attributes from `run_key` on.

    Attributes:
        experiment, name: of the run in MLflow.
        scores: those that the experiment's page shows.
        params, tags: in MLflow's form. The tag `inputs` is the SHA-256 of inputs.json: what the run is made from.
        run_key: SHA-256 over that and the results, which are others on another machine: identifies the run.
        chosen_by: the score that chose the epoch of its weights; None where the run's folder does not say it.
        entries: the final scores, the dev scores of each epoch, the rest of the history; MLflow keeps that order.
        started, ended: milliseconds since 1970; None where the log is missing.
        directory: its folder.
    """

    experiment: str
    name: str
    scores: tuple[str, ...]
    params: dict[str, str]
    tags: dict[str, str]
    run_key: str = ""
    chosen_by: float | None = None
    entries: Sequence[LogEntry] = ()
    started: int | None = None
    ended: int | None = None
    directory: Path = Path()


def read_catalog(build: Path) -> dict[str, Any]:
    """Return the plan's catalog, with the study's name as `study`; DataError where there is no plan."""
    catalog = layout.read_catalog(build, "variants", "ensembles", "seeds", "profile", "data_dir")
    return catalog | {"study": study(catalog, layout.data_kind(build))}


def study(catalog: Mapping[str, Any], data_kind: str) -> str:
    """Return the name of what a build folder trains, by profile and data.

    It is `sample` for profile `sample` on the sample, and another profile's name for that profile on the course's
    corpora. All others also name the data, such as `sample-reviews` for data in a folder `reviews`. Where this folder
    is in another one, the name ends in a digest of its path: `/a/desk` and `/b/desk` are two studies.
    """
    profile = catalog["profile"]
    if data_kind == ("sample" if profile == "sample" else "course"):
        return profile
    data = _data_name(catalog["data_dir"]) if data_kind == "own" else data_kind
    held_out = f"-held-out-{catalog['held_out']}" if catalog.get("held_out") else ""
    return f"{profile}-{data}{held_out}"


def _data_name(data_dir: str) -> str:
    """Return the name of a data folder, with a digest of its path where that has more parts, as params.yaml has it."""
    path = Path(os.path.normpath(data_dir))
    if path.as_posix() == path.name:
        return path.name
    return f"{path.name}-{files.sha256_of(path.as_posix().encode())[:PATH_DIGITS]}"


def experiment(catalog: Mapping[str, Any]) -> str:
    """Return the name of a catalog's experiment in MLflow, such as `mtbert-sample`."""
    return f"mtbert-{catalog['study']}"


def begun(settings: Mapping[str, Any], seed: int, made_from: str, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a run that has no results yet.

    Args:
        settings: the plan file of a variant, or what settings.yaml says of a merge, a vote or a baseline.
        seed: the run's seed.
        made_from: the SHA-256 of its inputs.json.
        catalog: of the plan, as `read_catalog` returns it: what departs from the defaults, and which data they are.
    """
    settings = {**settings, "seed": seed}
    variant = str(settings["variant"])
    changes = _changes(catalog, settings.get("members") or [variant])
    other_data = catalog["study"].removeprefix(str(settings["profile"])).removeprefix("-")
    data = other_data or catalog["data_dir"]
    return Record(
        experiment=experiment(catalog),
        name=run_name(variant, ({"data": data} if other_data else {}) | changes, seed),
        scores=view.scores(load_tasks(catalog["tasks"]) if catalog.get("tasks") else COURSE),
        params=parameters(settings) | {"data": data},
        tags=_tags(settings, made_from, data, changes),
    )


def _changes(catalog: Mapping[str, Any], variants: Sequence[str]) -> dict[str, Any]:
    """Return what any of these variants departs in from the defaults, sorted by key."""
    changes: dict[str, Any] = {}
    for variant in variants:
        changes |= catalog["variants"].get(variant, {}).get("overrides") or {}
    return dict(sorted(changes.items()))


def _tags(settings: Mapping[str, Any], made_from: str, data: str, changes: Mapping[str, Any]) -> dict[str, str]:
    tags = {name: str(settings[name]) for name in ("variant", "seed", "paper", "row", "profile") if name in settings}
    tags |= {"data": data, INPUTS: made_from}
    for name in ("DVC_STAGE", "DVC_EXP_NAME"):
        if value := os.environ.get(name):
            tags[name.lower()] = value
    if changes:
        tags[CHANGED] = "; ".join(f"{key}={setting_text(value)}" for key, value in changes.items())[:LONGEST_TAG]
    return tags


def run_name(variant: str, changes: Mapping[str, Any], seed: int) -> str:
    """Return a name such as `pals.dim=276 pals seed 1`; a long list of changes is cut off."""
    prefix = f"catalog.{variant}."
    text = " ".join(f"{key.removeprefix(prefix)}={setting_text(value)}" for key, value in changes.items())
    return " ".join(filter(None, [text[:LONGEST_CHANGES], variant, f"seed {seed}"]))


def of_model(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a trained or merged model, a vote or a baseline, as its folder says; errors of `of_run`."""
    makers = {"ensemble": of_vote, "baselines": of_baseline}
    return makers.get(layout.stage(directory), of_run)(directory, catalog)


def of_run(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a trained or merged model, from its folder, its log, and its plan's catalog.

    Raises: DataError where the run has been altered, or its log is damaged.
    """
    seals.check(directory, (*FILES, layout.INPUTS))
    settings = files.read_yaml(directory / SETTINGS)
    settings.pop("code", None)  # a live run starts without it
    results = files.read_json(directory / METRICS)
    record = _of_results(directory, settings, results, catalog)
    return replace(
        record,
        chosen_by=next(iter(results.get("chosen_by", [])), None),
        entries=[*record.entries, *_read_history(directory / HISTORY)],
    )


def of_vote(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a vote, from `build/votes/<name>/<seed>`; DataError as for `of_run`."""
    seals.check(directory, (*FILES[:2], layout.INPUTS))
    metrics = files.read_as(ModelMetrics, directory / METRICS, layout.remedy(directory)).content()
    return _of_results(directory, files.read_yaml(directory / SETTINGS), metrics, catalog)


def of_baseline(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a baseline, from `build/baselines/<name>/0` and its log; DataError as for `of_run`."""
    seals.check(directory, (*FILES[:2], layout.INPUTS))
    metrics = files.read_as(ModelMetrics, directory / METRICS, layout.remedy(directory)).content()
    settings = {"variant": metrics["variant"], "profile": catalog["profile"]}
    settings["tasks"] = files.read_yaml(directory / SETTINGS)["tasks"]
    sizes = {"stored": metrics["weights"]} if "weights" in metrics else {}
    return _of_results(directory, settings, metrics | {"parameters": sizes}, catalog)


def _of_results(
    directory: Path, settings: Mapping[str, Any], results: Mapping[str, Any], catalog: Mapping[str, Any]
) -> Record:
    """Return the record of a model with its final scores, and with its times where it has a log."""
    log = read_log(directory)
    started, ended = None, None
    if log is not None and log.started:
        started = int(1000 * datetime.fromisoformat(log.started).timestamp())
        ended = started + int(1000 * log.seconds)
    return replace(
        begun(settings, int(results["seed"]), inputs.identity(directory), catalog),
        run_key=_run_key(directory),
        entries=[LogEntry(name, FINAL_STEP, value) for name, value in _final(results, log).items()],
        started=started,
        ended=ended,
        directory=directory,
    )


def _run_key(directory: Path) -> str:
    """Return the SHA-256 of what a model is made from and of its results."""
    results = [directory / name for name in (METRICS, HISTORY) if (directory / name).is_file()]
    digests = [inputs.identity(directory), *map(files.sha256, results)]
    return files.sha256_of(" ".join(digests).encode())


def _final(results: Mapping[str, Any], log: RunLog | None) -> dict[str, float]:
    """Return the values of a finished record by the names that MLflow shows."""
    final: dict[str, float] = {}
    for group, title in GROUPS.items():
        final |= {f"{title}/{name}": value for name, value in results.get(group, {}).items()}
    totals: dict[str, float] = {name: results[name] for name in ("steps", "epoch") if name in results}
    if log is not None:
        totals |= log.model_dump(include=TOTALS, exclude_none=True)
    return final | {f"run/{name}": value for name, value in totals.items()}


def _read_history(file: Path) -> list[LogEntry]:
    """Return the entries of a run's history, the dev scores first; each kind stays in its order."""
    with file.open(encoding="utf-8", newline="") as handle:
        rows = [*csv.DictReader(handle)]
    entries = [LogEntry(row["name"], int(row["step"]), float(row["value"]), int(row["phase"])) for row in rows]
    return sorted(entries, key=lambda entry: not entry.name.startswith("dev/"))
