"""The rows of the table `runs`: what is known of each trained, merged and voted model, and of each baseline."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import inputs
from mtbert.provenance.inputs import Machine
from mtbert.scores.columns import COSTS
from mtbert.scores.described import UNTRAINED
from mtbert.scores.schemas import Elsewhere, RunMetrics, Scored
from mtbert.scores.source import Source
from mtbert.tasks import SPLITS

NOT_SETTINGS = ("seed", "code", "variant", "catalog", "scale")  # what settings.yaml says beside the settings


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
    metrics = files.read_as(Scored, folder / layout.METRICS, remedy)
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
    metrics = files.read_as(Scored, folder / layout.METRICS, remedy)
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


def _score_cells(folder: Path, metrics: Scored) -> dict[str, Any]:
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
