"""Read a run's directory into a record for MLflow: parameters, tags, points, scores, inputs. Imports no MLflow."""

import csv
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from mtbert import files
from mtbert.errors import DataError
from mtbert.tracking import naming

# MLflow's own limits (mlflow/utils/validation.py), and the characters its names allow.
LONGEST_NAME = 250
LONGEST_VALUE = 6000
LONGEST_TAG = 5000
LONGEST_DIGEST = 36
FORBIDDEN = re.compile(r"[^\w.:/ -]", re.ASCII)

READ = ("settings.yaml", "metrics.json", "history.csv")  # of a run's directory; the rest is not opened here
Place = tuple[str, int]  # name and step of a value


@dataclass(frozen=True)
class Point:
    """One value at one step; `time` in milliseconds since 1970."""

    name: str
    step: int
    value: float
    time: int

    @property
    def place(self) -> Place:
        """Name and step, which identify the point within a run."""
        return self.name, self.step


@dataclass(frozen=True)
class Input:
    """A data set or encoder that a run used; `context` is its purpose."""

    name: str
    digest: str
    source: str
    context: str


@dataclass(frozen=True)
class Card:
    """What is known of a run before its start.

    Attributes:
        experiment: MLflow's experiment.
        name: the run's name.
        settings_key: equal for runs of equal settings and seed.
        params, tags: in MLflow's form.
    """

    experiment: str
    name: str
    settings_key: str
    params: dict[str, str]
    tags: dict[str, str]


@dataclass(frozen=True)
class Contents:
    """The results of a run.

    Attributes:
        points: history and throughput, then the final scores at the last step.
        inputs: the data that it was trained and scored on.
        started, ended: milliseconds since 1970; None where the logs are missing.
        note: the run's description, with what is known at its end.
        artifacts: files to store, by their folder in MLflow.
    """

    points: list[Point]
    inputs: list[Input]
    started: int | None = None
    ended: int | None = None
    note: str = ""
    artifacts: Mapping[str, list[Path]] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """A finished run.

    Attributes:
        run_key: SHA-256 over settings, seed and results: identifies the run.
        read: reads the rest, which is only needed if MLflow lacks the run.
        replaces: whether it replaces records with the same card and another key, as a report does.
        model: the files of its model, if the run has weights.
    """

    card: Card
    run_key: str
    read: Callable[[], Contents]
    replaces: bool = False
    model: "Trained | None" = None


@dataclass(frozen=True)
class Trained:
    """A run with weights: its folder, that of its encoder with the tokenizer, and its tasks."""

    directory: Path
    encoder: Path
    tasks: tuple[str, ...]

    def remedy(self) -> str:
        """Return the command that trains it again."""
        return f"dvc repro train@{self.directory.parent.name}-{self.directory.name}"


def card(settings: Mapping[str, Any], seed: int, changes: Mapping[str, Any], kind: str = "variant") -> Card:
    """Make the card of a run.

    Args:
        settings: holds `variant` (or `ensemble`), `paper`, `row` and `profile`.
        seed: the run's seed.
        changes: what departs from the defaults, see `departures`; part of the name, but not of `settings_key`.
        kind: `variant` or `ensemble`.
    """
    settings = {**settings, "seed": seed}
    key = digest(settings)
    tags = {name: str(settings[name]) for name in (kind, "seed", "paper", "row", "profile") if name in settings}
    tags |= {"kind": kind, "settings_key": key, naming.NOTE: naming.note(settings, changes)[:LONGEST_TAG]}
    tags |= _surroundings("stages/train.py" if kind == "variant" else "stages/collect.py")
    name = naming.run_name(str(settings[kind]), changes, seed)[:LONGEST_NAME]
    return Card(f"{naming.EXPERIMENTS}{settings['profile']}", name, key, parameters(settings), tags)


def departures(build: Path, *variants: str) -> dict[str, Any]:
    """Return what departs from the defaults in these variants, by dotted key, as the plan lists it; may be empty."""
    file = build / "plan" / "catalog.yaml"
    if not file.is_file():
        return {}
    entries = _entries(file, file.stat().st_mtime_ns)
    return {k: v for name in variants for k, v in (entries.get(name, {}).get("departures") or {}).items()}


@cache
def _entries(file: Path, changed: int) -> dict[str, Any]:
    """What the plan says of its variants, read once until it changes, not for every run."""
    return files.read_plan(file, "variants")["variants"]


def _surroundings(script: str) -> dict[str, str]:
    """Return tags for the script and, if known, git commit, DVC stage and DVC experiment."""
    known = {
        "mlflow.source.name": script,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": _commit(),
        "dvc_stage": os.environ.get("DVC_STAGE", ""),
        "dvc_experiment": os.environ.get("DVC_EXP_NAME", ""),
    }
    return {name: value for name, value in known.items() if value}


@cache
def _commit() -> str:
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):  # no git, or no answer: the run is logged without its commit
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def digest(value: Any) -> str:
    """Return the SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def parameters(settings: Mapping[str, Any]) -> dict[str, str]:
    """Flatten nested settings to parameters: `{"phases": [{"clip": 1.0}]}` becomes `{"phases.0.clip": "1.0"}`.

    A value beyond MLflow's limit continues in `name.part2`, `name.part3`, ..., so that nothing is cut off.
    """
    flat: dict[str, str] = {}
    for path, value in _leaves(settings, ()):
        text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
        for start in range(0, max(len(text), 1), LONGEST_VALUE):
            part = () if start == 0 else (f"part{start // LONGEST_VALUE + 1}",)
            flat[_name(".".join((*path, *part)))] = text[start : start + LONGEST_VALUE]
    return flat


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        children = [(str(key), child) for key, child in value.items()]
    elif isinstance(value, list) and any(isinstance(child, Mapping) for child in value):
        children = [(str(index), child) for index, child in enumerate(value)]
    else:
        yield path, value
        return
    for key, child in children:
        yield from _leaves(child, (*path, key))


def _name(name: str) -> str:
    """Return a name that MLflow allows; a changed name gets a digest of the original, so that names stay distinct."""
    allowed = FORBIDDEN.sub("_", name)
    if allowed == name and len(name) <= LONGEST_NAME:
        return name
    return f"{allowed[: LONGEST_NAME - 20]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def of_run(directory: Path, logs: Path) -> Record:
    """Return the record of a finished run, from `build/runs/<variant>/<seed>` and its log's directory.

    Raises: DataError where the run has been altered.
    """
    variant, seed = directory.parent.name, directory.name
    files.check_sealed(directory, f"dvc repro train@{variant}-{seed}", READ)
    settings, results = files.read_yaml(directory / "settings.yaml"), files.read_json(directory / "metrics.json")
    settings = {name: value for name, value in settings.items() if name != "code"}  # a live run starts without it
    changes = departures(directory.parents[2], settings["variant"])
    about = card(settings, int(results["seed"]), changes)
    key = digest([about.settings_key, results, files.sha256(directory / "history.csv")])
    read = partial(_contents, directory, logs, settings, results, changes)
    return Record(about, key, read, model=_trained(directory, settings))


def _trained(directory: Path, settings: Mapping[str, Any]) -> Trained | None:
    encoder = directory.parents[2] / "encoders" / settings.get("model", {}).get("encoder", "base")
    is_complete = (directory / "model.safetensors").is_file() and (encoder / "tokenizer.json").is_file()
    return Trained(directory, encoder, tuple(settings["tasks"])) if is_complete else None


def of_ensemble(directory: Path, entry: Mapping[str, Any], profile: str) -> Record:
    """Return the record of an ensemble, from `build/ensembles/<name>/<seed>` and its entry in the catalog.

    Raises: DataError where the ensemble has been altered.
    """
    files.check_sealed(directory, "dvc repro collect", READ)
    results = files.read_json(directory / "metrics.json")
    about = {name: entry[name] for name in ("paper", "row") if name in entry}
    settings = {"ensemble": results["ensemble"], "members": results["members"], "profile": profile, **about}
    changes = departures(directory.parents[2], *results["members"])
    label = card(settings, int(results["seed"]), changes, "ensemble")
    points = [Point(name, 0, value, 0) for name, value in scores(results).items()]
    return Record(label, digest([label.settings_key, results]), lambda: Contents(points, []))


def of_report(directory: Path, profile: str) -> Record:
    """Return the record of a report: its page and pictures, from `reports/<profile>`."""
    same = digest({"report": profile})
    note = "The last report: `index.html` and its pictures, under Artifacts. The one before is deleted."
    tags = {"kind": "report", "profile": profile, "settings_key": same, naming.NOTE: note}
    label = Card(
        f"{naming.EXPERIMENTS}{profile}", "report", same, {"profile": profile}, tags | _surroundings("stages/report.py")
    )
    artifacts = {"": [directory / "index.html"], "pictures": sorted((directory / "pictures").glob("*.png"))}
    key = digest([[file.name, files.sha256(file)] for several in artifacts.values() for file in several])
    return Record(label, key, lambda: Contents([], [], artifacts=artifacts), replaces=True)


def _contents(
    directory: Path, logs: Path, settings: Mapping[str, Any], results: Mapping[str, Any], changes: Mapping[str, Any]
) -> Contents:
    remedy = f"dvc repro --force --single-item train@{directory.parent.name}-{directory.name}"
    log = _read_log(logs, remedy)
    started, ended = _times(log)
    last = int(results["steps"])
    # The time of each step is not stored: steps are spread evenly over the run, which is enough for MLflow's time axis.
    slope = (ended - started) / max(last, 1) if started and ended else 0.0
    rows = [*_series(directory / "history.csv", remedy), *_series(logs / "speed.csv", remedy)]
    rows += [(name, last, value) for name, value in {**scores(results), **_totals(log)}.items()]
    points = [Point(name, step, value, int((started or 0) + slope * step)) for name, step, value in rows]
    note = naming.note(settings, changes, results)[:LONGEST_TAG]
    return Contents(points, _inputs(settings, directory.parents[2]), started, ended, note)


def scores(results: Mapping[str, Any]) -> dict[str, float]:
    """Return final scores and counts by MLflow's column names: `score/dev/sts`, `parameters/added`, `run/steps`."""
    groups = {"dev": "score/dev", "test": "score/test", "train": "score/train", "parameters": "parameters"}
    flat = {
        f"{shown}/{name}": float(value)
        for group, shown in groups.items()
        for name, value in results.get(group, {}).items()
    }
    return flat | {f"run/{name}": float(results[name]) for name in ("steps", "epoch") if name in results}


def _iso(text: str) -> str:
    datetime.fromisoformat(text)
    return text


class _Log(BaseModel):
    """The part of a run's run.json that is read."""

    model_config = ConfigDict(allow_inf_nan=False)

    started: Annotated[str, AfterValidator(_iso)]
    seconds: float = 0.0
    training_seconds: float | None = None
    examples: float | None = None
    examples_per_second: float | None = None
    peak_memory_mb: float | None = None


class _Encoder(BaseModel):
    """The part of an encoder's encoder.json that is read."""

    name: str
    sha256: str
    source: str


def _read_log(logs: Path, remedy: str) -> _Log | None:
    file = logs / "run.json"
    return files.read_as(_Log, file, remedy) if file.is_file() else None


def _totals(log: _Log | None) -> dict[str, float]:
    values = log.model_dump(exclude={"started"}, exclude_none=True) if log else {}
    return {f"run/{name}": float(value) for name, value in values.items()}


def _times(log: _Log | None) -> tuple[int | None, int | None]:
    if log is None:
        return None, None
    started = datetime.fromisoformat(log.started).timestamp()
    return int(started * 1000), int((started + log.seconds) * 1000)


def _series(file: Path, remedy: str) -> list[tuple[str, int, float]]:
    """Read a CSV file with step, name, value and further columns: MLflow's name, step, value of each row."""
    if not file.is_file():
        return []
    try:
        with file.open(encoding="utf-8", newline="") as handle:
            return [
                (naming.series(row["name"]), int(row["step"]), float(row["value"])) for row in csv.DictReader(handle)
            ]
    except (AttributeError, KeyError, TypeError, ValueError, csv.Error) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{file} is damaged ({reason}); `{remedy}` makes it again") from None


def _inputs(settings: Mapping[str, Any], build: Path) -> list[Input]:
    """Return the data sets of all phases and the starting weights, if they are in the build directory."""
    tasks = [*settings.get("tasks", []), *(task for phase in settings.get("phases", []) for task in phase["tasks"])]
    uses = {"train": "training", "dev": "evaluation"}
    tables = [
        (task, split, build / "data" / task / f"{split}.parquet") for task in dict.fromkeys(tasks) for split in uses
    ]
    inputs = [
        Input(f"{task}-{split}", files.sha256(table)[:LONGEST_DIGEST], table.as_posix(), uses[split])
        for task, split, table in tables
        if table.is_file()
    ]
    start = build / "encoders" / settings.get("model", {}).get("encoder", "base")
    if not (start / "encoder.json").is_file():
        return inputs
    encoder = files.read_as(_Encoder, start / "encoder.json", "dvc repro init")
    name = encoder.name if start.name == "base" else f"{encoder.name}-{start.name}"
    return [*inputs, Input(name, encoder.sha256[:LONGEST_DIGEST], encoder.source, "encoder")]
