"""How long a prediction takes with each model of a build folder, all measured one after the other on this machine."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.inference import loading
from mtbert.inference.baseline import Baseline
from mtbert.inference.model import Model
from mtbert.provenance import inputs, seals
from mtbert.scores import run_log
from mtbert.scores.schemas import Speed

SENTENCES = ["sentence1", "sentence2"]
ROWS = 20  # of dev, one at a time; the median counts
WARM = 3  # predictions before that


def measure(build: Path) -> Speed:
    """Return milliseconds a prediction of each selected model and baseline, and seconds of each training."""
    catalog = layout.read_catalog(build, "variants", "ensembles", "seeds")
    variants = [name for name, entry in catalog["variants"].items() if entry["selected"]]
    merges = [name for name, entry in catalog["ensembles"].items() if entry["selected"] and entry.get("merge")]
    milliseconds: dict[str, float] = {}
    seconds: dict[str, dict[str, float]] = {}
    for name in variants:
        runs = _runs(layout.runs(build) / name, catalog["seeds"])
        seconds[name] = _seconds(runs)
        milliseconds |= _milliseconds(name, runs, build)
    for name in merges:
        milliseconds |= _milliseconds(name, _runs(layout.merged(build) / name, catalog["seeds"]), build)
    for folder in layout.baselines_of(build, "*"):
        name = folder.parent.name
        seconds[name] = _seconds([folder])
        if (folder / layout.WEIGHTS).is_file():
            milliseconds |= _milliseconds(name, [folder], build)
    return Speed(machine=inputs.machine(build).processor, milliseconds=milliseconds, seconds=seconds)


def _runs(folder: Path, seeds: Sequence[int]) -> list[Path]:
    """Return the folders of those seeds that are there."""
    return [run for run in (folder / str(seed) for seed in seeds) if run.is_dir()]


def _seconds(runs: Sequence[Path]) -> dict[str, float]:
    """Return by seed how long each run took; without those that have no log."""
    seconds: dict[str, float] = {}
    for run in runs:
        with contextlib.suppress(DataError):  # a damaged log
            if log := run_log.read(run):
                seconds[run.name] = log.seconds
    return seconds


def _milliseconds(name: str, runs: Sequence[Path], build: Path) -> dict[str, float]:
    """Return by name the milliseconds of a prediction with the first run; nothing where its weights are not here."""
    if not runs or layout.WEIGHTS in seals.left_elsewhere(runs[0]):
        return {}
    return {name: round(_measure_model(loading.of_folder(runs[0]), build), 3)}


def _measure_model(model: Model | Baseline, build: Path) -> float:
    """Return the mean over its tasks of the median milliseconds of a prediction; a model's tokens are made before."""
    medians = []
    for task in model.tasks:
        columns = SENTENCES[: len(model.task(task).sentences)]
        table = files.read_parquet(layout.examples(layout.data(build), task, "dev"), columns)
        rows: list[Any] = [tuple(row) for row in table.head(ROWS).to_numpy()]
        for row in rows[:WARM]:
            model.timed(task, row)
        medians.append(1000 * median(model.timed(task, row) for row in rows))
    return fmean(medians)
