"""What it costs to run each model of a build folder: time and size, all models side by side in one process.

A model is timed from texts to answers, as `mtbert predict` runs it: one text of each form that its tasks take (a text,
or a pair) answered for all of its tasks, and 32 of them together. The texts are those of dev, as long as real ones.
Models take turns on the same texts: what else the machine does slows all of them alike.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import torch

from mtbert import files, layout
from mtbert.baselines.rows import text_columns
from mtbert.data import tokens
from mtbert.errors import DataError
from mtbert.inference import loading
from mtbert.inference.baseline import Baseline
from mtbert.inference.model import Model, NotFiniteError
from mtbert.machine import starting
from mtbert.provenance import inputs, seals
from mtbert.scores.schemas import Costs, Speed, read_log
from mtbert.tasks import Tasks, main, read_build

BATCH = 32
ROUNDS = {1: 20, BATCH: 5}  # of each number of texts that are predicted together; the median counts
WARM = 2  # rounds before these
MOST_MEMORY = 0.5  # share of the machine's memory for models that are loaded at a time


def measure(build: Path) -> Speed:
    """Return the costs of each selected model and baseline, and seconds of each training."""
    catalog = layout.read_catalog(build, "variants", "ensembles", "seeds")
    variants = [name for name, entry in catalog["variants"].items() if entry["selected"] and not entry.get("part")]
    merges = [name for name, entry in catalog["ensembles"].items() if entry["selected"] and entry.get("merge")]
    baselines = layout.baselines_of(build, "*")
    runs_by_name = {name: _runs(layout.runs(build) / name, catalog["seeds"]) for name in variants}
    runs_by_name |= {name: _runs(layout.merged(build) / name, catalog["seeds"]) for name in merges}
    runs_by_name |= {folder.parent.name: [folder] for folder in baselines}
    seconds = {name: _seconds(runs) for name, runs in runs_by_name.items() if name not in merges}
    folders = {
        name: runs[0]
        for name, runs in runs_by_name.items()
        if runs
        and (runs[0] not in baselines or (runs[0] / layout.WEIGHTS).is_file())
        and not seals.lacks_weights(runs[0])
    }
    keys = {name: {run.name: layout.log_key(run) for run in runs} for name, runs in runs_by_name.items()}
    return Speed(machine=inputs.machine(build).processor, models=keys, costs=_costs(folders, build), seconds=seconds)


def _runs(folder: Path, seeds: Sequence[int]) -> list[Path]:
    """Return the folders of those seeds that are there."""
    return [run for run in (folder / str(seed) for seed in seeds) if run.is_dir()]


def _seconds(runs: Sequence[Path]) -> dict[str, float]:
    """Return by seed how long each run took; without those that have no log."""
    seconds: dict[str, float] = {}
    for run in runs:
        with contextlib.suppress(DataError):  # a damaged log
            if log := read_log(run):
                seconds[run.name] = log.seconds
    return seconds


def _costs(folders: Mapping[str, Path], build: Path) -> dict[str, Costs]:
    """Return the costs of models by name; of one whose numbers are not finite there are none."""
    rows = _rows(build, read_build(build))
    costs: dict[str, Costs] = {}
    for names in _groups(folders):
        models = {name: loading.load_folder(folders[name]) for name in names}
        with _threads(models):
            one, in_batch = (_milliseconds(models, rows, size) for size in ROUNDS)
        costs |= {
            name: Costs(
                milliseconds=round(one[name], 3),
                batch_milliseconds=round(in_batch[name], 3),
                megabytes=round(_megabytes(model), 3),
            )
            for name, model in models.items()
            if name in one
        }
    return costs


@contextlib.contextmanager
def _threads(models: Mapping[str, Model | Baseline]) -> Iterator[None]:
    """Let a baseline's encoder have as many threads as the trained models have."""
    threads = torch.get_num_threads()
    torch.set_num_threads(
        next((model.settings.run.threads for model in models.values() if isinstance(model, Model)), 1)
    )
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _rows(build: Path, tasks: Tasks) -> dict[int, list[tuple[str, ...]]]:
    """Return texts of dev by their number in a row, those of all tasks in turn; drawn, as a file may be sorted."""
    drawn: dict[int, list[tuple[int, tuple[str, ...]]]] = {}  # with the place of each row among its task's
    needed = max(size * (count + WARM) for size, count in ROUNDS.items())
    for name in main(tasks):
        file = layout.examples(layout.data(build), name, "dev")
        if file.is_file():
            columns = text_columns(tasks[name])
            table = files.read_parquet(file, columns).to_numpy()
            picks = np.resize(np.random.default_rng(0).permutation(len(table)), needed)
            drawn.setdefault(len(columns), []).extend((place, tuple(table[pick])) for place, pick in enumerate(picks))
    return {texts: [row for _, row in sorted(of_form, key=lambda entry: entry[0])] for texts, of_form in drawn.items()}


def _groups(folders: Mapping[str, Path]) -> Iterator[list[str]]:
    """Yield the models that are loaded at a time: all of them where the memory has room."""
    room = MOST_MEMORY * starting.memory()
    group: list[str] = []
    used = 0
    for name, folder in folders.items():
        size = (folder / layout.WEIGHTS).stat().st_size
        if group and used + size > room:
            yield group
            group, used = [], 0
        group.append(name)
        used += size
    if group:
        yield group


def _milliseconds(
    models: Mapping[str, Model | Baseline], rows: Mapping[int, Sequence[tuple[str, ...]]], size: int
) -> dict[str, float]:
    """Return what a text takes in each model for all of its tasks, where so many are predicted together."""
    totals = dict.fromkeys(models, 0.0)
    for texts, of_form in rows.items():
        times: dict[str, list[float]] = {}
        for number in range(WARM + ROUNDS[size]):
            batch = of_form[size * number : size * (number + 1)]
            for name in [*totals]:
                tasks = [task for task in models[name].tasks if len(models[name].task(task).sentences) == texts]
                try:
                    started = time.perf_counter()
                    if tasks:
                        models[name].tables(tasks, batch)
                        times.setdefault(name, []).append(1000 * (time.perf_counter() - started) / size)
                except NotFiniteError:  # a training that diverged; its scores say so
                    del totals[name]
        for name in times.keys() & totals.keys():
            totals[name] += median(times[name][WARM:])
    return totals


def _megabytes(model: Model | Baseline) -> float:
    """Return the size of the files that are read to predict, in MB of 10^6 bytes."""
    needed = [model.run / layout.WEIGHTS]
    if isinstance(model, Model):
        needed.append(model.encoder / tokens.TOKENIZER)
    else:
        needed.append(model.run / layout.BASELINE)
        if model.encoder is not None:
            needed += [model.encoder / layout.WEIGHTS, model.encoder / tokens.TOKENIZER]
    return sum(file.stat().st_size for file in needed) / 1e6
