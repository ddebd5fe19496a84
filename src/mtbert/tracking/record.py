"""Describe a run for MLflow: its name, parameters, tags, values and data. Imports no MLflow."""

import csv
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files, layout
from mtbert.layout import HISTORY, METRICS, SETTINGS
from mtbert.scores.schemas import BaselineMetrics, RunLog, Scored
from mtbert.tasks import COURSE, restored
from mtbert.tracking import view
from mtbert.tracking.view import CHANGED

FILES = (SETTINGS, METRICS, HISTORY)  # of a run's directory; the rest is not opened here
LONGEST_CHANGES = 80  # characters of them in a run's name; the tag `changed` has more
LONGEST_TAG = 5000  # MLflow's limit
APART = {"also", "rival", "sources", "phases"}  # keys of a plan file that are no settings, or are flattened apart
GROUPS = {"dev": "final/dev", "test": "final/test", "train": "final/train", "parameters": "parameters"}
FINAL_STEP = 0  # MLflow draws bars of values that have no later step, and lines of others
TOTALS = {"seconds", "examples_per_second", "peak_memory_mb", "peak_gpu_memory_mb"}  # of a run's log
# MLflow shows this as the experiment's description.
ABOUT = "`final/...` is the result. `dev/...` are scores by which an epoch is chosen: compare no models by them."


class Point(NamedTuple):
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
        params, tags: in MLflow's form. The tag `settings_key` is equal for equal settings and seed; `inputs` is a
            digest of starting weights, data and code, and of a vote that of its members.
        run_key: SHA-256 over settings, seed and results: identifies the run.
        chosen_by: the score that chose the epoch of its weights; None where the run's folder does not say it.
        points: the final scores, the dev scores of each epoch, the rest of the history: MLflow's pages keep that order.
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
    points: Sequence[Point] = ()
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
    corpora. All others also name the data, such as `sample-reviews` for data in a folder `reviews`.
    """
    profile = catalog["profile"]
    if data_kind == ("sample" if profile == "sample" else "course"):
        return profile
    data = Path(catalog["data_dir"]).name if data_kind == "own" else data_kind
    held_out = f"-held-out-{catalog['held_out']}" if catalog.get("held_out") else ""
    return f"{profile}-{data}{held_out}"


def experiment(catalog: Mapping[str, Any]) -> str:
    """Return the name of a catalog's experiment in MLflow, such as `mtbert-sample`."""
    return f"mtbert-{catalog['study']}"


def begun(settings: Mapping[str, Any], seed: int, build: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a run that has no results yet.

    Args:
        settings: the plan file of a variant, or what settings.yaml says of a merge, a vote or a baseline.
        seed: the run's seed.
        build: the build directory.
        catalog: of its plan, as `read_catalog` returns it: what departs from the defaults, and which data they are.
    """
    settings = {**settings, "seed": seed}
    variant = str(settings["variant"])
    changes = _changes(catalog, settings.get("members") or [variant])
    other_data = catalog["study"].removeprefix(str(settings["profile"])).removeprefix("-")
    data = other_data or catalog["data_dir"]
    return Record(
        experiment=experiment(catalog),
        name=run_name(variant, ({"data": data} if other_data else {}) | changes, seed),
        scores=view.scores(restored(catalog["tasks"]) if catalog.get("tasks") else COURSE),
        params=parameters(settings) | {"data": data},
        tags=_tags(settings, build, data, changes),
    )


def _changes(catalog: Mapping[str, Any], variants: Sequence[str]) -> dict[str, Any]:
    """Return what any of these variants departs in from the defaults, sorted by key."""
    changes: dict[str, Any] = {}
    for variant in variants:
        changes |= catalog["variants"].get(variant, {}).get("overrides") or {}
    return dict(sorted(changes.items()))


def _tags(settings: Mapping[str, Any], build: Path, data: str, changes: Mapping[str, Any]) -> dict[str, str]:
    tags = {name: str(settings[name]) for name in ("variant", "seed", "paper", "row", "profile") if name in settings}
    tags["data"] = data
    tags["settings_key"] = _digest(settings)
    manifest = layout.manifest(build, str(settings["variant"]))
    if manifest.is_file():
        tags["inputs"] = files.sha256(manifest)
    for name in ("DVC_STAGE", "DVC_EXP_NAME"):
        if value := os.environ.get(name):
            tags[name.lower()] = value
    if changes:
        tags[CHANGED] = "; ".join(f"{key}={_text(value)}" for key, value in changes.items())[:LONGEST_TAG]
    return tags


def run_name(variant: str, changes: Mapping[str, Any], seed: int) -> str:
    """Return a name such as `pals.dim=276 pals seed 1`; a long list of changes is cut off."""
    prefix = f"catalog.{variant}."
    text = " ".join(f"{key.removeprefix(prefix)}={_text(value)}" for key, value in changes.items())
    return " ".join(filter(None, [text[:LONGEST_CHANGES], variant, f"seed {seed}"]))


def parameters(settings: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a plan file to parameters by the names of params.yaml.

    `{"model": {"adapter": {"name": "pals", "dim": 204}}}` becomes `{"model.adapter": "pals", "pals.dim": "204"}`. A
    value in which phases differ is named `phases.0.epochs`, as in the catalog, and else `training.epochs`.
    """
    flat: dict[str, Any] = {}
    for name in settings.keys() - APART:
        flat |= _settings(name, settings[name])
    phases = [dict(_settings("training", phase)) for phase in settings.get("phases", [])]
    for number, phase in enumerate(phases):
        for key, value in phase.items():
            is_shared = all(other.get(key, value) == value for other in phases)
            flat[key if is_shared else key.replace("training", f"phases.{number}", 1)] = value
    return {key: _text(value) for key, value in flat.items()}


def _settings(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield settings by their keys; those of a technique, which has a `name`, are in the section of that name."""
    if isinstance(value, list) and any(isinstance(choice, Mapping) for choice in value):
        for choice in value:
            yield from _settings(path, choice)
        yield path, [choice["name"] for choice in value]
    elif isinstance(value, Mapping) and value:
        for key, child in value.items():
            if key == "name":
                yield path, child
            else:
                yield from _settings(f"{value.get('name', path)}.{key}", child)
    else:
        yield path, value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _digest(value: Any) -> str:
    """Return the SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def of_model(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a trained or merged model, a vote or a baseline, as its folder says; errors of `of_run`."""
    makers = {"ensemble": of_vote, "baselines": of_baseline}
    return makers.get(layout.stage(directory), of_run)(directory, catalog)


def of_run(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a trained or merged model, from its folder, its log, and its plan's catalog.

    Raises: DataError where the run has been altered, or its log is damaged.
    """
    layout.check_sealed(directory, FILES)
    settings = files.read_yaml(directory / SETTINGS)
    settings.pop("code", None)  # a live run starts without it
    results = files.read_json(directory / METRICS)
    log = _read_log(directory)
    started, ended = None, None
    if log is not None and log.started:
        started = int(1000 * datetime.fromisoformat(log.started).timestamp())
        ended = started + int(1000 * log.seconds)
    final = [Point(name, FINAL_STEP, value) for name, value in _final(results, log).items()]
    record = begun(settings, int(results["seed"]), layout.build_of(directory), catalog)
    return replace(
        record,
        run_key=_digest([record.tags["settings_key"], results, files.sha256(directory / HISTORY)]),
        chosen_by=next(iter(results.get("chosen_by", [])), None),
        points=final + _read_history(directory / HISTORY),
        started=started,
        ended=ended,
        directory=directory,
    )


def of_vote(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a vote, from `build/votes/<name>/<seed>`; DataError as for `of_run`."""
    layout.check_sealed(directory, (*FILES[:2], layout.INPUTS))
    metrics = files.read_as(Scored, directory / METRICS, layout.remedy(directory)).model_dump()
    record = _of_scores(directory, files.read_yaml(directory / SETTINGS), metrics, metrics, catalog)
    return replace(record, tags=record.tags | {"inputs": files.sha256(directory / layout.INPUTS)})


def of_baseline(directory: Path, catalog: Mapping[str, Any]) -> Record:
    """Return the record of a baseline, from `build/baselines/<name>/0` and its log; DataError as for `of_run`."""
    layout.check_sealed(directory, FILES[:2])
    metrics = files.read_as(BaselineMetrics, directory / METRICS, layout.remedy(directory)).model_dump()
    settings = {"variant": metrics["variant"], "profile": catalog["profile"]}
    settings["tasks"] = files.read_yaml(directory / SETTINGS)["tasks"]
    results = metrics | {"parameters": {"stored": metrics["weights"]}}
    return _of_scores(directory, settings, metrics, results, catalog)


def _of_scores(
    directory: Path,
    settings: Mapping[str, Any],
    metrics: Mapping[str, Any],
    results: Mapping[str, Any],
    catalog: Mapping[str, Any],
) -> Record:
    """Return the record of what has no history: its final scores, and its times where it has a log.

    `metrics` identify it; `results` are shown.
    """
    log = _read_log(directory)
    record = begun(settings, int(metrics["seed"]), layout.build_of(directory), catalog)
    started = int(1000 * datetime.fromisoformat(log.started).timestamp()) if log and log.started else None
    return replace(
        record,
        run_key=_digest([record.tags["settings_key"], metrics, files.sha256(directory / layout.DIGESTS)]),
        points=[Point(name, FINAL_STEP, value) for name, value in _final(results, log).items()],
        started=started,
        ended=None if started is None or log is None else started + int(1000 * log.seconds),
        directory=directory,
    )


def _read_log(run: Path) -> RunLog | None:
    """Return a run's log; None where it is missing."""
    file = layout.log(run) / layout.LOG
    if not file.is_file():
        return None
    return files.read_as(RunLog, file, f"dvc repro --force --single-item {layout.stage(run)}")


def _final(results: Mapping[str, Any], log: RunLog | None) -> dict[str, float]:
    """Return the values of a finished record by the names that MLflow shows."""
    final: dict[str, float] = {}
    for group, title in GROUPS.items():
        final |= {f"{title}/{name}": value for name, value in results.get(group, {}).items()}
    totals: dict[str, float] = {name: results[name] for name in ("steps", "epoch") if name in results}
    if log is not None:
        totals |= log.model_dump(include=TOTALS, exclude_none=True)
    return final | {f"run/{name}": value for name, value in totals.items()}


def _read_history(file: Path) -> list[Point]:
    """Return the points of a run's history, the dev scores first; each kind stays in its order."""
    with file.open(encoding="utf-8", newline="") as handle:
        rows = [*csv.DictReader(handle)]
    points = [Point(row["name"], int(row["step"]), float(row["value"]), int(row["phase"])) for row in rows]
    return sorted(points, key=lambda point: not point.name.startswith("dev/"))
