"""The rows of the table `runs`: what is known of each trained, merged and voted model, and of each baseline."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mtbert import files, layout
from mtbert.provenance import inputs
from mtbert.provenance.inputs import Origin
from mtbert.scores.described import UNTRAINED
from mtbert.scores.schemas import BaselineMetrics, Cost, Elsewhere, RunMetrics, Scored, Sizes
from mtbert.scores.source import Source
from mtbert.tasks import SPLITS

NOT_SETTINGS = ("seed", "code", "variant", "catalog", "scale")  # what settings.yaml says beside the settings


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """A row of the table `runs`; None is what its kind does not have.

    Attributes:
        settings: what settings.yaml says, without NOT_SETTINGS.
        scores: by split and metric.
        beside: what else dev is scored by, as of `schemas.WithBeside`.
        overrides: the settings that depart from the defaults, such as `pals.dim=276`.
        machine: processor, accelerator and PyTorch of the machine that trained it.
        seconds: of its training.
        cost: of running it.
        weights: how many numbers a baseline has to keep.
    """

    kind: Literal["variant", "ensemble", "encoder", "baseline"]
    variant: str
    seed: int
    settings: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, float]]
    beside: Mapping[str, float]
    sizes: Sizes | None = None
    metrics: RunMetrics | None = None
    overrides: Sequence[str] | None = None
    threads: int | None = None
    code: str | None = None
    machine: str | None = None
    seconds: float | None = None
    cost: Cost | None = None
    weights: int | None = None

    def cells(self) -> dict[str, Any]:
        """Return the row by column; a column that is missing is empty."""
        cells: dict[str, Any] = {
            name: getattr(self, name) for name in ("kind", "variant", "seed", "threads", "code", "machine", "seconds")
        }
        cells["settings"] = json.dumps(self.settings)
        for split, split_scores in self.scores.items():
            cells |= {f"{split}_{metric}": score for metric, score in split_scores.items()}
        cells |= {f"dev_{name}": score for name, score in self.beside.items()}
        if self.overrides is not None:
            cells["overrides"] = "; ".join(self.overrides)
        if self.weights is not None:
            cells |= {"trained": self.weights, "stored": self.weights}
        if self.cost:
            cells |= self.cost.model_dump()
        if self.sizes:
            cells |= self.sizes.model_dump()
        if self.metrics:
            cells |= self.metrics.model_dump(include={"steps", "epoch", "device", "precision"})
            cells["epochs"] = " ".join(map(str, self.metrics.epochs))
            cells |= {f"examples_{task}": count for task, count in (self.metrics.examples or {}).items()}
        return cells


def run_row(source: Source, folder: Path) -> ModelRow:
    """Return the row of a trained or merged model."""
    variant, seed, remedy = folder.parent.name, folder.name, layout.remedy(folder)
    metrics = files.read_as(RunMetrics, folder / layout.METRICS, remedy)
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, remedy, files.read_yaml)
    origin = _origin(source.build, folder)
    machine = [origin.processor, origin.accelerator, f"torch {origin.torch}"]
    speed = source.speed
    return ModelRow(
        kind="ensemble" if settings.get("members") else "variant",
        variant=variant,
        seed=int(seed),
        settings=_settings_alone(settings),
        scores=metrics.model_dump(include={*SPLITS}),
        beside=metrics.beside,
        sizes=metrics.parameters,
        metrics=metrics,
        overrides=_overrides(source, settings.get("members") or [variant]),
        threads=settings.get("run", {}).get("threads"),
        code=settings.get("code"),
        machine=", ".join(filter(None, machine)),
        seconds=speed.seconds.get(variant, {}).get(seed) if speed else None,
        cost=speed.costs.get(variant) if speed else None,
    )


def vote_row(source: Source, folder: Path) -> ModelRow:
    """Return the row of a vote, which has no training."""
    remedy = layout.remedy(folder)
    scored = files.read_as(Scored, folder / layout.METRICS, remedy)
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, remedy, files.read_yaml)
    return ModelRow(
        kind="ensemble",
        variant=folder.parent.name,
        seed=int(folder.name),
        settings=_settings_alone(settings),
        scores=scored.model_dump(include={*SPLITS}),
        beside=scored.beside,
        sizes=scored.parameters,
        overrides=_overrides(source, settings["members"]),
    )


def baseline_row(source: Source, folder: Path) -> ModelRow:
    """Return the row of a baseline, or of the starting weights without any training."""
    name, seed, remedy = folder.parent.name, folder.name, layout.remedy(folder)
    scored = files.read_as(BaselineMetrics, folder / layout.METRICS, remedy)
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, remedy, files.read_yaml)
    speed = source.speed
    costs = settings.get("costs") or {}  # of predictions that others made
    cost = Cost(milliseconds=costs["milliseconds"]) if "milliseconds" in costs else None
    if speed:
        cost = speed.costs.get(name, cost)
    about = {"tasks": settings["tasks"], "profile": source.catalog["profile"]}
    return ModelRow(
        kind="encoder" if name == UNTRAINED else "baseline",
        variant=name,
        seed=int(seed),
        settings=about | {"costs": costs} if costs else about,
        scores=scored.model_dump(include={*SPLITS}),
        beside=scored.beside,
        weights=None if name == UNTRAINED else scored.weights,
        seconds=speed.seconds.get(name, {}).get(seed) if speed else None,
        cost=cost,
    )


def _settings_alone(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in NOT_SETTINGS}


def _overrides(source: Source, variants: Sequence[str]) -> list[str]:
    """Return the settings in which variants depart from the defaults, such as `pals.dim=276`, each once."""
    texts: dict[str, None] = {}
    for variant in variants:
        overrides = source.catalog["variants"].get(variant, {}).get("overrides") or {}
        texts |= dict.fromkeys(f"{key}={json.dumps(value)}" for key, value in overrides.items())
    return [*texts]


def _origin(build: Path, folder: Path) -> Origin:
    """Return where a model was made; one that does not say it, in this build folder."""
    elsewhere = folder / layout.ELSEWHERE
    if elsewhere.is_file():
        return files.read_as(Elsewhere, elsewhere, "mtbert unpack").machine
    made_from = inputs.of_model(folder)
    return made_from.machine if made_from and made_from.machine else inputs.machine(build)
