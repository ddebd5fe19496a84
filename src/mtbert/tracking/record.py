"""Describe a run for MLflow: its name, parameters, tags, values and data. Imports no MLflow."""

import csv
import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files
from mtbert.schemas import RunLog
from mtbert.tasks import TASKS

READ = ("settings.yaml", "metrics.json", "history.csv")  # of a run's directory; the rest is not opened here
DESCRIPTION = "mlflow.note.content"  # the tag that MLflow shows as a description
LONGEST_CHANGES = 80  # characters of a run's name; the tag `overrides` has all of them
LONGEST_TAG = 5000  # MLflow's limit
ASIDE = {"also", "rival", "sources", "phases", "members"}  # of a plan file: no settings, or flattened apart
DIGITS = 4  # of a score
GROUPS = {"dev": "final/dev", "test": "final/test", "train": "final/train", "parameters": "parameters"}
TOTALS = {"seconds", "examples_per_second", "peak_memory_mb"}  # of a run's log
ABOUT = """\
A run for each variant and seed, with the parameters of params.yaml. `final/...` is the result. `dev/...` are the \
scores on dev after each epoch, by which the epoch is chosen: compare no models by them. `loss/...` are means over the \
steps since the entry before. One seed decides nothing: the report has means over seeds with their intervals.
"""


class Point(NamedTuple):
    """One value at one step; `time` in milliseconds since 1970."""

    name: str
    step: int
    value: float
    time: int


@dataclass(frozen=True)
class Record:
    """A run; before its end without the attributes from `run_key` on.

    Attributes:
        experiment, name: of the run in MLflow.
        params, tags: in MLflow's form. The tag `settings_key` is equal for equal settings and seed; `inputs` is a
            digest of starting weights, data and code.
        run_key: SHA-256 over settings, seed and results: identifies the run.
        points: the history, then the final scores at the last step.
        data: SHA-256 of the data that it was trained and scored on, by name such as `sst-train`.
        started, ended: milliseconds since 1970; None where the log is missing.
        directory, has_weights: its folder, and whether its weights are there.
    """

    experiment: str
    name: str
    params: dict[str, str]
    tags: dict[str, str]
    run_key: str = ""
    points: Sequence[Point] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    started: int | None = None
    ended: int | None = None
    directory: Path = Path()
    has_weights: bool = False


def experiment_tags() -> dict[str, str]:
    """Return an experiment's tags: its description, that it opens with its runs, and the view "Scores"."""
    columns = [f"metrics.`final/dev/{name}`" for name in ("overall_normalised", *TASKS)]
    state = {"orderByKey": columns[0], "orderByAsc": False, "selectedColumns": columns}
    view = {"name": "Scores", "createdAt": 0, "updatedAt": 0, "state": json.dumps(state)}
    return {
        DESCRIPTION: ABOUT,
        "mlflow.experimentKind": "custom_model_development",
        "mlflow.sharedViewState.scores": json.dumps(view),
    }


def begun(settings: Mapping[str, Any], seed: int, build: Path) -> Record:
    """Return the record of a run that has no results yet.

    Args:
        settings: the plan file of a variant, or `ensemble`, `members`, `paper`, `row` and `profile`.
        seed: the run's seed.
        build: the build directory, whose plan says what departs from the defaults, and which data they are.

    Raises: DataError where the build directory holds no plan.
    """
    settings = {**settings, "seed": seed}
    kind = "variant" if "variant" in settings else "ensemble"
    subject = str(settings[kind])
    file, init = build / "plan" / "catalog.yaml", build / "init" / f"{subject}.json"
    catalog, folder = _plan(file, file.stat().st_mtime_ns if file.is_file() else 0)
    entries = [catalog["variants"].get(name, {}) for name in settings.get("members", [subject])]
    changes = {key: value for entry in entries for key, value in sorted((entry.get("overrides") or {}).items())}
    other_data = folder.removeprefix(str(settings["profile"])).removeprefix("-")
    data = other_data or str(catalog.get("data_dir", "data/sample"))
    tags = {name: str(settings[name]) for name in (kind, "seed", "paper", "row", "profile") if name in settings}
    tags |= {"data": data, "settings_key": _digest(settings)}
    tags |= {"inputs": files.sha256(init)} if init.is_file() else {}
    tags |= {name.lower(): value for name in ("DVC_STAGE", "DVC_EXP_NAME") if (value := os.environ.get(name))}
    if changes:
        tags["overrides"] = "; ".join(f"{key}={_text(value)}" for key, value in changes.items())[:LONGEST_TAG]
    name = run_name(subject, ({"data": data} if other_data else {}) | changes, seed)
    return Record(f"mtbert-{folder}", name, parameters(settings) | {"data": data}, tags)


@cache
def _plan(file: Path, changed: int) -> tuple[dict[str, Any], str]:
    """Read the plan's catalog, once until it changes; return also the profile, with the data if they are other."""
    return files.read_plan(file, "variants", "profile"), files.study(file.parents[1])


def run_name(subject: str, changes: Mapping[str, Any], seed: int) -> str:
    """Return a name such as `pals pals.dim=276 seed 1`; a long list of changes is cut off, and its length added."""
    text = " ".join(f"{key.removeprefix(f'catalog.{subject}.')}={_text(value)}" for key, value in changes.items())
    if len(text) > LONGEST_CHANGES:
        text = f"{text[:LONGEST_CHANGES]}... ({len(changes)} changes)"
    return " ".join(filter(None, [subject, text, f"seed {seed}"]))


def parameters(settings: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a plan file to parameters by the names of params.yaml.

    `{"model": {"adapter": {"name": "pals", "dim": 204}}}` becomes `{"model.adapter": "pals", "pals.dim": "204"}`. A
    value in which phases differ is named `phases.0.epochs`, as in the catalog, and else `training.epochs`.
    """
    flat = {key: value for name in settings.keys() - ASIDE for key, value in _settings(name, settings[name])}
    phases = [dict(_settings("training", phase)) for phase in settings.get("phases", [])]
    for number, phase in enumerate(phases):
        for key, value in phase.items():
            is_shared = all(other.get(key, value) == value for other in phases)
            flat[key if is_shared else key.replace("training", f"phases.{number}", 1)] = value
    return {key: _text(value) for key, value in flat.items()}


def _settings(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield settings by their keys; those of a technique, which has a `name`, are in the section of that name."""
    if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for one in value:
            yield from _settings(path, one)
        yield path, [one["name"] for one in value]
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


def rounded(name: str, value: float) -> float:
    """Round a score as a table shows it; return another value as it is."""
    return round(value, DIGITS) if name.startswith(("dev/", "final/")) else float(value)


def _digest(value: Any) -> str:
    """Return the SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def of_run(directory: Path) -> Record:
    """Return the record of a finished run, from `build/runs/<variant>/<seed>` and its log.

    Raises: DataError where the run has been altered, or its log is damaged.
    """
    build, stage = directory.parents[2], f"train@{directory.parent.name}-{directory.name}"
    files.check_sealed(directory, f"dvc repro {stage}", READ)
    settings, results = files.read_yaml(directory / "settings.yaml"), files.read_json(directory / "metrics.json")
    settings = {name: value for name, value in settings.items() if name != "code"}  # a live run starts without it
    file, started, seconds = files.log_directory(build, directory) / "run.json", None, 0.0
    final = _scores(results)
    if file.is_file():
        log = files.read_as(RunLog, file, f"dvc repro --force --single-item {stage}")
        final |= {f"run/{name}": value for name, value in log.model_dump(include=TOTALS, exclude_none=True).items()}
        started, seconds = log.started and datetime.fromisoformat(log.started).timestamp(), log.seconds
    with (directory / "history.csv").open(encoding="utf-8", newline="") as handle:
        rows = [(row["name"], int(row["step"]), float(row["value"])) for row in csv.DictReader(handle)]
    last = int(results["steps"])
    rows += [(name, last, value) for name, value in final.items()]

    def at(step: int) -> int:
        """Spread the steps evenly over the run: their times are not stored."""
        return int(1000 * (started + seconds * step / max(last, 1))) if started else 0

    about = begun(settings, int(results["seed"]), build)
    data = [build / "data" / task / f"{split}.parquet" for task in settings["tasks"] for split in ("train", "dev")]
    return replace(
        about,
        run_key=_digest([about.tags["settings_key"], results, files.sha256(directory / "history.csv")]),
        points=[Point(name, step, value, at(step)) for name, step, value in rows],
        data={f"{file.parent.name}-{file.stem}": files.sha256(file) for file in data if file.is_file()},
        started=at(0) or None,
        ended=at(last) or None,
        directory=directory,
        has_weights=(directory / "model.safetensors").is_file(),
    )


def of_ensemble(vote: Mapping[str, Any], build: Path) -> Record:
    """Return the record of an ensemble, from its row of `build/results/runs.parquet`."""
    told, seed = json.loads(vote["settings"]), int(vote["seed"])
    settings = {"ensemble": vote["variant"]}
    settings |= {name: told[name] for name in ("members", "profile", "paper", "row") if told.get(name) is not None}
    results: dict[str, Any] = {"ensemble": vote["variant"], "seed": seed, "members": told["members"]}
    for split in ("dev", "test"):
        scores = {name.removeprefix(f"{split}_"): vote[name] for name in vote if name.startswith(f"{split}_")}
        results[split] = {metric: score for metric, score in scores.items() if not math.isnan(score)}
    about = begun(settings, seed, build)
    points = [Point(name, 0, value, 0) for name, value in _scores(results).items()]
    return replace(about, run_key=_digest([about.tags["settings_key"], results]), points=points)


def _scores(results: Mapping[str, Any]) -> dict[str, float]:
    """Return final scores and counts: `final/dev/sts`, `parameters/added`, `run/steps`."""
    named = {f"{GROUPS[group]}/{name}": value for group in GROUPS for name, value in results.get(group, {}).items()}
    return named | {f"run/{name}": results[name] for name in ("steps", "epoch") if name in results}
