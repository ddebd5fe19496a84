"""The rows of the table `runs`: what is known of each trained, merged and voted model, and of each baseline.

Two columns say of all rows the same: what the data are, and which starting weights all models have.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import inputs
from mtbert.provenance.inputs import Machine
from mtbert.scores import sets
from mtbert.scores.columns import COSTS
from mtbert.scores.described import UNTRAINED
from mtbert.scores.schemas import Elsewhere, ModelMetrics, RunMetrics, Speed
from mtbert.tasks import COURSE, SPLITS, Task, Tasks, dump_task, read_build

NOT_SETTINGS = ("seed", "code", "variant", "catalog", "scale")  # what settings.yaml says beside the settings
FIFTHS = 5  # of a score's range, by which its labels are counted


@dataclass(frozen=True)
class Source:
    """What all models of a build folder share; `speed` is None if nobody has measured it."""

    build: Path
    catalog: Mapping[str, Any]
    tasks: Tasks
    speed: Speed | None

    @property
    def data(self) -> Path:
        """The folder of all examples."""
        return layout.data(self.build)


def source_of(build: Path) -> Source:
    """Read what all models of a build folder share; DataError if a file of it is missing or damaged."""
    file = layout.speed(build)
    speed = files.read_as(Speed, file, "dvc repro speed") if file.is_file() else None
    catalog = layout.read_catalog(build, "profile", "variants", "data_dir", "encoder")
    return Source(build, catalog, read_build(build), speed)


def shared_cells(source: Source, with_counts: bool) -> dict[str, str]:
    """Return what each row of `runs` says of the data and of the starting weights, by column."""
    return {"data": json.dumps(_data_of(source, with_counts)), "start": json.dumps(source.catalog["encoder"])}


def _data_of(source: Source, with_counts: bool) -> dict[str, Any]:
    """Return the data's name, whose they are and their faults, with counts also how many rows and labels there are."""
    report = layout.data_report(source.data)
    description = {
        "name": _name(source),
        "whose": layout.data_kind(source.build),
        "faults": files.read_json(report).get("faults", []) if report.is_file() else [],
        "rows": _row_counts(source) if with_counts else {},
    }
    if source.tasks != COURSE:
        description["tasks"] = _stated_tasks(source.tasks)
    return description


def _name(source: Source) -> str:
    """Return the data folder as it is set; of a path of this machine its last part alone."""
    data_dir, held_out = source.catalog["data_dir"], source.catalog.get("held_out")
    path = Path(data_dir)
    name = path.name if path.is_absolute() or ".." in path.parts else data_dir
    return f"{name}, dev: {held_out} held-out training rows" if held_out else name


def _stated_tasks(tasks: Tasks) -> dict[str, dict[str, Any]]:
    return {name: dump_task(replace(task, files={})) for name, task in tasks.items()}


def _row_counts(source: Source) -> dict[str, dict[str, Any]]:
    """Return how many rows each split of each task has, and how many of each label, as in `described.RowCounts`."""
    by_task: dict[str, dict[str, Any]] = {}
    for (name, task), split in itertools.product(source.tasks.items(), SPLITS):
        file = layout.examples(source.data, name, split)
        if file.is_file():
            labels = files.read_parquet(file, ["label"])["label"].to_numpy(float)
            counts = [] if np.isnan(labels).any() else _label_counts(labels, task)
            by_task.setdefault(name, {})[split] = {"rows": len(labels), "labels": counts}
    return by_task


def _label_counts(labels: np.ndarray, task: Task) -> list[int]:
    """Return how many labels are of each class, how many sets have each label, or are in each fifth of a range."""
    if task.several:
        return sets.members_of(labels, task.classes).sum(axis=0).tolist()
    bins, ends = task.classes, (0.0, float(task.classes))
    if task.kind == "score":
        bins, ends = FIFTHS, (task.lowest, task.highest)
    return np.histogram(labels, bins, ends)[0].tolist()


def of_model(source: Source, folder: Path) -> dict[str, Any]:
    """Return the row of a model by column; columns that it lacks are empty."""
    makers = {"ensemble": _of_vote, "baselines": _of_baseline}
    return makers.get(layout.stage(folder), _of_run)(source, folder)


def _of_run(source: Source, folder: Path) -> dict[str, Any]:
    """Return the row of a trained or merged model."""
    variant, remedy = folder.parent.name, layout.remedy(folder)
    metrics = files.read_as(RunMetrics, folder / layout.METRICS, remedy)
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, remedy)
    origin = _origin(source.build, folder)
    machine = [origin.processor, origin.accelerator, f"torch {origin.torch}"]
    members = settings.get("members")
    return {
        **_score_cells(folder, metrics),
        "kind": "ensemble" if members else "variant",
        "settings": _settings_alone(settings),
        **metrics.parameters,
        **metrics.model_dump(include={"steps", "epoch", "device", "precision"}),
        "epochs": "",  # older evidence has them, by part of dev; a run that is in both is to have equal rows
        **{f"examples_{task}": count for task, count in (metrics.examples or {}).items()},
        "overrides": _overrides(source, members or [variant]),
        "threads": settings.get("run", {}).get("threads"),
        "code": settings.get("code"),
        "machine": ", ".join(filter(None, machine)),
        **_measured(source, folder),
    }


def _of_vote(source: Source, folder: Path) -> dict[str, Any]:
    """Return the row of a vote, which has no training."""
    remedy = layout.remedy(folder)
    metrics = files.read_as(ModelMetrics, folder / layout.METRICS, remedy)
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, remedy)
    return {
        **_score_cells(folder, metrics),
        "kind": "ensemble",
        "settings": _settings_alone(settings),
        **metrics.parameters,
        "overrides": _overrides(source, settings["members"]),
    }


def _of_baseline(source: Source, folder: Path) -> dict[str, Any]:
    """Return the row of a baseline, or of the starting weights without any training."""
    remedy, is_untrained = layout.remedy(folder), folder.parent.name == UNTRAINED
    metrics = files.read_as(ModelMetrics, folder / layout.METRICS, remedy)
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, remedy)
    costs = settings.get("costs") or {}  # of predictions that others made
    about = {"tasks": settings["tasks"], "profile": source.catalog["profile"]}
    return {
        **_score_cells(folder, metrics),
        "kind": "encoder" if is_untrained else "baseline",
        "settings": json.dumps(about | {"costs": costs} if costs else about),
        **({} if is_untrained else {"trained": metrics.weights, "stored": metrics.weights}),
        **{name: costs.get(name) for name in COSTS},
        **_measured(source, folder),
    }


def _score_cells(folder: Path, metrics: ModelMetrics) -> dict[str, Any]:
    """Return the cells of every kind of model: whose row it is, and its scores; DataError if it is another model's."""
    variant, seed = folder.parent.name, int(folder.name)
    if (metrics.variant, metrics.seed) != (variant, seed):
        raise DataError(
            f"{folder} holds the model of {metrics.variant}, seed {metrics.seed}: it was copied or renamed; "
            f"`rm -r {folder} && {layout.remedy(folder)}` makes {variant}, seed {seed}"
        )
    cells: dict[str, Any] = {"variant": variant, "seed": seed}
    for split, scores in metrics.model_dump(include={*SPLITS}).items():
        cells |= {f"{split}_{metric}": score for metric, score in scores.items()}
    return cells | {f"dev_{name}": score for name, score in metrics.beside.items()}


def _measured(source: Source, folder: Path) -> dict[str, Any]:
    """Return the seconds of a training and what it costs to run the model, where these were measured of this model."""
    if source.speed is None or not source.speed.is_of(folder):
        return {}
    variant, cost = folder.parent.name, source.speed.costs.get(folder.parent.name)
    seconds = source.speed.seconds.get(variant, {}).get(folder.name)
    return {"seconds": seconds, **(cost.model_dump(include={*COSTS}) if cost else {})}


def _settings_alone(settings: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in settings.items() if key not in NOT_SETTINGS})


def _overrides(source: Source, variants: Sequence[str]) -> str:
    """Return the settings in which variants depart from the defaults, such as `pals.dim=276`, each once."""
    texts: dict[str, None] = {}
    for variant in variants:
        overrides = source.catalog["variants"].get(variant, {}).get("overrides") or {}
        texts |= dict.fromkeys(f"{key}={json.dumps(value)}" for key, value in overrides.items())
    return "; ".join(texts)


def _origin(build: Path, folder: Path) -> Machine:
    """Return where a model was made; one that does not say it, in this build folder."""
    elsewhere = folder / layout.ELSEWHERE
    if elsewhere.is_file():
        return files.read_as(Elsewhere, elsewhere, "mtbert unpack").machine
    made_from = inputs.of_model(folder)
    return made_from.machine if made_from and made_from.machine else inputs.machine(build)
