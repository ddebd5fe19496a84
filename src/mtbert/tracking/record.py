"""Read a finished run into a record for MLflow: names, parameters, tags, points and data. Imports no MLflow."""

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict

from mtbert import files
from mtbert.tracking import names

READ = ("settings.yaml", "metrics.json", "history.csv")  # of a run's directory; the rest is not opened here


class Point(NamedTuple):
    """One value at one step; `time` in milliseconds since 1970."""

    name: str
    step: int
    value: float
    time: int


class Card(NamedTuple):
    """What is known of a run before its start.

    Attributes:
        experiment, name: of the run in MLflow.
        params, tags: in MLflow's form; the tag `settings_key` is equal for equal settings and seed.
    """

    experiment: str
    name: str
    params: dict[str, str]
    tags: dict[str, str]


@dataclass(frozen=True)
class Record:
    """A finished run.

    Attributes:
        run_key: SHA-256 over settings, seed and results: identifies the run.
        points: the history, then the final scores at the last step.
        data: SHA-256 of the data that it was trained and scored on, by name such as `sst-train`.
        started, ended: milliseconds since 1970; None where the log is missing.
        directory, encoder: folders of its weights, and of its encoder with the tokenizer; None without weights.
    """

    card: Card
    run_key: str
    points: list[Point]
    data: Mapping[str, str]
    started: int | None = None
    ended: int | None = None
    directory: Path | None = None
    encoder: Path | None = None


def card(settings: Mapping[str, Any], seed: int, build: Path) -> Card:
    """Make the card of a run.

    Args:
        settings: the plan file of a variant, or `ensemble`, `members`, `paper`, `row` and `profile`.
        seed: the run's seed.
        build: the build directory, whose plan says what departs from the defaults, and which data they are.

    Raises: SettingsError where the build directory holds no plan.
    """
    settings = {**settings, "seed": seed}
    kind = "variant" if "variant" in settings else "ensemble"
    file = build / "plan" / "catalog.yaml"
    catalog, folder = _plan(file, file.stat().st_mtime_ns if file.is_file() else 0)
    entries = [catalog["variants"].get(name, {}) for name in settings.get("members", [settings[kind]])]
    changes = {key: value for entry in entries for key, value in sorted((entry.get("overrides") or {}).items())}
    other_data = folder.removeprefix(str(settings["profile"])).removeprefix("-")
    data = other_data or str(catalog.get("data_dir", "data/sample"))
    tags = {name: str(settings[name]) for name in (kind, "seed", "paper", "row", "profile") if name in settings}
    tags |= {"data": data, "settings_key": digest(settings)}
    tags |= {name.lower(): os.environ.get(name, "") for name in ("DVC_STAGE", "DVC_EXP_NAME")}
    tags[names.DESCRIPTION] = names.description(settings, data, changes)
    name = names.run_name(str(settings[kind]), ({"data": data} if other_data else {}) | changes, seed)
    params = names.parameters(settings) | {"data": data}
    return Card(f"mtbert-{folder}", name, params, {name: value for name, value in tags.items() if value})


@cache
def _plan(file: Path, changed: int) -> tuple[dict[str, Any], str]:
    """Read the plan's catalog, once until it changes; return also the profile, with the data if they are other."""
    return files.read_plan(file, "variants", "profile"), files.study(file.parents[1])


def digest(value: Any) -> str:
    """Return the SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def of_run(directory: Path, logs: Path) -> Record:
    """Return the record of a finished run, from `build/runs/<variant>/<seed>` and its log's directory.

    Raises: DataError where the run has been altered, or its log is damaged.
    """
    build, stage = directory.parents[2], f"train@{directory.parent.name}-{directory.name}"
    files.check_sealed(directory, f"dvc repro {stage}", READ)
    settings, results = files.read_yaml(directory / "settings.yaml"), files.read_json(directory / "metrics.json")
    settings = {name: value for name, value in settings.items() if name != "code"}  # a live run starts without it
    file = logs / "run.json"
    log = files.read_as(_Log, file, f"dvc repro --force --single-item {stage}") if file.is_file() else _Log()
    about = card(settings, int(results["seed"]), build)
    encoder = build / "encoders" / settings.get("model", {}).get("encoder", "base")
    has_model = (directory / "model.safetensors").is_file() and (encoder / "tokenizer.json").is_file()
    return Record(
        about,
        digest([about.tags["settings_key"], results, files.sha256(directory / "history.csv")]),
        _points(directory / "history.csv", results, log),
        _data(build / "data", settings["tasks"]),
        log.at(0.0),
        log.at(1.0),
        directory if has_model else None,
        encoder if has_model else None,
    )


def of_ensemble(directory: Path, entry: Mapping[str, Any], profile: str) -> Record:
    """Return the record of an ensemble, from `build/ensembles/<name>/<seed>` and its entry in the catalog.

    Raises: DataError where the ensemble has been altered.
    """
    files.check_sealed(directory, "dvc repro collect", READ)
    results = files.read_json(directory / "metrics.json")
    about = {name: entry[name] for name in ("paper", "row") if name in entry}
    settings = {"ensemble": results["ensemble"], "members": results["members"], "profile": profile, **about}
    label = card(settings, int(results["seed"]), directory.parents[2])
    points = [Point(name, 0, value, 0) for name, value in names.scores(results).items()]
    return Record(label, digest([label.tags["settings_key"], results]), points, {})


class _Log(BaseModel):
    """The part of a run's run.json that is read."""

    model_config = ConfigDict(allow_inf_nan=False)

    started: Annotated[datetime | None, BeforeValidator(lambda text: datetime.fromisoformat(str(text)))] = None
    seconds: float = 0.0
    examples_per_second: float | None = None
    peak_memory_mb: float | None = None

    def at(self, share: float) -> int | None:
        """Return the time, in milliseconds since 1970, at which that share of the run was over."""
        return int(1000 * (self.started.timestamp() + self.seconds * share)) if self.started else None


def _points(history: Path, results: Mapping[str, Any], log: _Log) -> list[Point]:
    with history.open(encoding="utf-8", newline="") as handle:
        rows = [(row["name"], int(row["step"]), float(row["value"])) for row in csv.DictReader(handle)]
    totals = log.model_dump(exclude={"started"}, exclude_none=True) if log.started else {}
    final = names.scores(results) | {f"run/{name}": value for name, value in totals.items()}
    last = int(results["steps"])
    rows += [(name, last, value) for name, value in final.items()]
    # The time of each step is not stored: steps are spread evenly over the run, which is enough for MLflow's time axis.
    return [Point(name, step, value, log.at(step / max(last, 1)) or 0) for name, step, value in rows]


def _data(folder: Path, tasks: Iterable[str]) -> dict[str, str]:
    tables = [folder / task / f"{split}.parquet" for task in tasks for split in ("train", "dev")]
    return {f"{file.parent.name}-{file.stem}": files.sha256(file) for file in tables if file.is_file()}
