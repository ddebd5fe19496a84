"""Read every trained, merged and voted model of a build folder once, check it, and make the three tables of them."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.results import places, predictions, tables
from mtbert.results.schemas import Elsewhere, Manifest, Origin, RunMetrics, Scored, Sizes, Speed
from mtbert.results.tables import Frame, Results
from mtbert.tasks import COURSE, SPLITS, Task, Tasks, of_build, stated

READ = (layout.METRICS, layout.SETTINGS, layout.HISTORY, layout.EMBEDDINGS, layout.ELSEWHERE)  # of a model's files
OF_A_RUN = ("seed", "code", "variant", "catalog", "scale")  # what settings.yaml states beside the settings
KNOWN = ("cluster", "in_train", "shares")  # columns of what preprocessing found of dev's rows
UNKNOWN = {"cluster": -1, "in_train": False, "shares": False}  # of other splits
FIFTHS = 5  # of a score's range, by which its labels are counted
Tables = dict[str, dict[str, Frame]]  # by split and task


@dataclass(frozen=True)
class Source:
    """What all models of a build folder share."""

    build: Path
    catalog: Mapping[str, Any]
    tasks: Tasks
    speed: Speed | None

    @property
    def data(self) -> Path:
        """The folder of all examples."""
        return layout.data(self.build)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table `runs`; None is what its kind does not have.

    Attributes:
        settings: what settings.yaml says, without what is of the run.
        scores: by split and metric.
        overrides: the settings that depart from the defaults, such as `pals.dim=276`.
        machine: processor, accelerator and PyTorch where it was trained.
        seconds, milliseconds: of its training, and of a prediction.
    """

    kind: Literal["variant", "ensemble", "encoder"]
    variant: str
    seed: int
    settings: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, float]]
    sizes: Sizes | None = None
    metrics: RunMetrics | None = None
    overrides: Sequence[str] | None = None
    threads: int | None = None
    code: str | None = None
    machine: str | None = None
    seconds: float | None = None
    milliseconds: float | None = None

    def cells(self) -> dict[str, Any]:
        """Return the row by column; a column that is missing is empty."""
        cells: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("kind", "variant", "seed", "threads", "code", "machine", "seconds", "milliseconds")
        }
        cells["settings"] = json.dumps(self.settings)
        for split, of_split in self.scores.items():
            cells |= {f"{split}_{metric}": score for metric, score in of_split.items()}
        if self.overrides is not None:
            cells["overrides"] = "; ".join(self.overrides)
        if self.sizes:
            cells |= self.sizes.model_dump()
        if self.metrics:
            cells |= self.metrics.model_dump(include={"steps", "epoch", "device", "precision"})
            cells["epochs"] = " ".join(map(str, self.metrics.epochs))
            cells |= {f"examples_{task}": count for task, count in (self.metrics.examples or {}).items()}
        return cells


@dataclass
class Model:
    """A model as its folder holds it: its row, its predictions with what is known of their rows, and its history."""

    folder: Path
    row: Row
    predictions: Tables
    history: Frame | None


def collect(build: Path) -> Results:
    """Return the results of all models that the plan asks for and that are there.

    Raises:
        DataError: no catalog, nothing has run, or as for `of_folders`.
    """
    catalog = _catalog(build)
    runs = _there(layout.runs(build), catalog["variants"], catalog["seeds"])
    if not runs:
        raise DataError(f"no results below {build}; `dvc repro` makes those that params.yaml asks for")
    merged = _there(layout.merged(build), catalog["ensembles"], catalog["seeds"])
    votes = _there(layout.votes(build), catalog["ensembles"], catalog["seeds"])
    return of_folders(build, [*runs, *merged, *votes])


def _catalog(build: Path) -> dict[str, Any]:
    return layout.read_catalog(build, "profile", "seeds", "variants", "ensembles", "data_dir", "encoder")


def _there(folder: Path, entries: Mapping[str, Any], seeds: Sequence[int]) -> list[Path]:
    """Return the folders of the selected models that are there."""
    selected = [name for name, entry in entries.items() if entry["selected"]]
    asked = [folder / name / str(seed) for name, seed in itertools.product(selected, seeds)]
    return [model for model in asked if model.is_dir()]


def of_folders(build: Path, folders: Sequence[Path], pictures: bool = True) -> Results:
    """Return the results of the models in these folders, made from what lies in `build`.

    `pictures` adds places of sentences to the first seed of each variant, which takes five seconds of a core each.

    Raises:
        DataError: a model was altered or is not whole, or models do not fit together; named.
    """
    source = source_of(build)
    for folder in folders:
        check(source, folder)
    models = [load(source, folder) for folder in folders]
    if pictures:
        embed(models, source.tasks)
    return as_results(source, models, counted=pictures)


def source_of(build: Path) -> Source:
    """Read what all models of a build folder share; DataError where a file of it is missing or damaged."""
    speed = layout.speed(build)
    timed = files.read_as(Speed, speed, "dvc repro speed") if speed.is_file() else None
    return Source(build, _catalog(build), of_build(build), timed)


def as_results(source: Source, models: Sequence[Model], counted: bool = True) -> Results:
    """Return the three tables of these models, `counted` with the numbers of rows; DataError where they do not fit."""
    results = Results(
        _table_of_runs(source, [*_untrained(source), *(model.row for model in models)], counted),
        _table_of_predictions(models, source.tasks),
        _table_of_history(models, source.tasks),
    )
    tables.check(results, str(source.build))
    return results


def check(source: Source, folder: Path) -> None:
    """Raise DataError where one of the files that are read of a model is not as it was written."""
    predicted = [layout.predictions(Path(), *one).as_posix() for one in itertools.product(source.tasks, SPLITS)]
    layout.check_sealed(folder, only=[*READ, *predicted])


def load(source: Source, folder: Path) -> Model:
    """Read a model; DataError where one of its files holds something else."""
    history = folder / layout.HISTORY
    return Model(
        folder,
        _row_of_vote(source, folder) if layout.stage(folder) == "ensemble" else _row_of_run(source, folder),
        _predicted(source, folder),
        _history(history) if history.is_file() else None,
    )


def _row_of_run(source: Source, folder: Path) -> Row:
    """Return the row of a trained or merged model."""
    variant, seed, again = folder.parent.name, folder.name, layout.remedy(folder)
    metrics = files.read_as(RunMetrics, folder / layout.METRICS, again)
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, again, files.read_yaml)
    origin = _origin(source.build, folder)
    speed = source.speed
    return Row(
        kind="ensemble" if settings.get("members") else "variant",
        variant=variant,
        seed=int(seed),
        settings=_without_the_run(settings),
        scores=metrics.model_dump(include={*SPLITS}),
        sizes=metrics.parameters,
        metrics=metrics,
        overrides=_overrides(source, settings.get("members") or [variant]),
        threads=settings.get("run", {}).get("threads"),
        code=settings.get("code"),
        machine=", ".join(filter(None, (origin.processor, origin.accelerator, f"torch {origin.torch}"))),
        seconds=speed.seconds.get(variant, {}).get(seed) if speed else None,
        milliseconds=speed.milliseconds.get(variant) if speed else None,
    )


def _row_of_vote(source: Source, folder: Path) -> Row:
    """Return the row of a vote, which has no training."""
    scored = files.read_as(Scored, folder / layout.METRICS, layout.remedy(folder))
    settings = files.read_as(dict[str, Any], folder / layout.SETTINGS, layout.remedy(folder), files.read_yaml)
    return Row(
        kind="ensemble",
        variant=folder.parent.name,
        seed=int(folder.name),
        settings=_without_the_run(settings),
        scores=scored.model_dump(include={*SPLITS}),
        sizes=scored.parameters,
        overrides=_overrides(source, settings["members"]),
    )


def _without_the_run(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in OF_A_RUN}


def _overrides(source: Source, variants: Sequence[str]) -> list[str]:
    """Return the settings in which variants depart from the defaults, such as `pals.dim=276`, each once."""
    entries = [source.catalog["variants"].get(variant, {}).get("overrides") or {} for variant in variants]
    return [*dict.fromkeys(f"{key}={json.dumps(value)}" for entry in entries for key, value in entry.items())]


def _origin(build: Path, folder: Path) -> Origin:
    """Return where a model was made; a merge, which has no manifest, in this build folder."""
    elsewhere, variant = folder / layout.ELSEWHERE, folder.parent.name
    if elsewhere.is_file():
        return files.read_as(Elsewhere, elsewhere, "mtbert unpack").machine
    if layout.stage(folder) == "merge":
        return files.read_as(Origin, layout.machine(build), "dvc repro machine")
    return files.read_as(Manifest, layout.manifest(build, variant), "dvc repro manifest").machine


def _untrained(source: Source) -> Iterator[Row]:
    """Yield the row of the starting weights without any training, where the stage `encoder` has scored them."""
    file = layout.untrained(source.build)
    if not file.is_file() or source.catalog.get("held_out"):  # held-out rows replace dev, and it was scored on dev
        return
    scores = files.read_as(dict[str, float], file, "dvc repro encoder")
    yield Row(
        kind="encoder",
        variant=tables.UNTRAINED,
        seed=0,
        settings={"tasks": [], "profile": source.catalog["profile"]},
        scores={"dev": scores},
    )


def _predicted(source: Source, folder: Path) -> Tables:
    """Return a model's predictions with what is known of the rows, and how sure it is of each class."""
    found: Tables = {split: {} for split in SPLITS}
    for split, task in itertools.product(SPLITS, source.tasks):
        file, rows = layout.predictions(folder, task, split), layout.rows(source.data, task, split)
        if file.is_file():
            table: Frame = files.read_parquet(file)
            known = _known(rows, table["id"]) if rows.is_file() else UNKNOWN
            table = table.assign(row=np.arange(len(table)), **known)
            found[split][task] = _with_sureness(table, source.tasks[task])
    return found


def _known(file: Path, ids: Frame) -> dict[str, Frame]:
    """Return columns of what preprocessing found of rows: their cluster, and what of them is in train."""
    known: Frame = files.read_parquet(file, ["id", *KNOWN])
    if not known["id"].equals(ids):
        raise DataError(f"{file} and the predictions are of other rows; `dvc repro` makes both again")
    return {name: known[name] for name in KNOWN}


def _with_sureness(table: Frame, task: Task) -> Frame:
    """Add the probability of the predicted class; a score has none."""
    columns = predictions.probability_columns(task)
    if not columns:
        return table
    classes = table["prediction"].to_numpy(int)
    return table.assign(**{tables.SURE: table[columns].to_numpy()[np.arange(len(table)), classes]})


def _history(file: Path) -> Frame:
    try:
        return pd.read_csv(file, usecols=["phase", "step", "name", "value"])
    except ValueError as error:  # not UTF-8, no table, or without one of the columns
        raise DataError(f"{file} is damaged: {error}") from None


def embed(models: Sequence[Model], tasks: Tasks) -> None:
    """Join places of sentences to the dev predictions of each variant's first seed that has embeddings."""
    first: dict[str, Model] = {}
    for model in models:
        if (model.folder / layout.EMBEDDINGS).is_file():
            first.setdefault(model.row.variant, model)
    embedded = [model.folder / layout.EMBEDDINGS for model in first.values()]
    dev = [model.predictions["dev"] for model in first.values()]
    labels = [{task: table["label"].to_numpy(float) for task, table in of_dev.items()} for of_dev in dev]
    for of_dev, placed in zip(dev, places.of_runs(embedded, labels, tasks), strict=True):
        for task, places_of_task in placed.items():
            of_dev[task] = of_dev[task].join(places_of_task)


def _table_of_runs(source: Source, rows: Sequence[Row], counted: bool) -> Frame:
    """Return the table `runs`; each row says of the data and the starting weights what all share."""
    told = {"data": json.dumps(_about_data(source, counted)), "start": json.dumps(source.catalog["encoder"])}
    return tables.joined([pd.DataFrame([row.cells() | told for row in rows])], "runs", source.tasks)


def _table_of_predictions(models: Sequence[Model], tasks: Tasks) -> Frame:
    of_each = (
        table.assign(variant=model.row.variant, seed=model.row.seed, task=task, split=split)
        for model in models
        for split, of_split in model.predictions.items()
        for task, table in of_split.items()
    )
    return tables.joined(of_each, "predictions", tasks)


def _table_of_history(models: Sequence[Model], tasks: Tasks) -> Frame:
    of_each = [
        model.history.assign(variant=model.row.variant, seed=model.row.seed)
        for model in models
        if model.history is not None
    ]
    return tables.joined(of_each, "history", tasks)


def _about_data(source: Source, counted: bool) -> dict[str, Any]:
    """Return what is known of the data, as in `tables.Data`: its name, whose it is, its rows and its faults."""
    data_dir, report = source.catalog["data_dir"], layout.data_report(source.data)
    path = Path(data_dir)
    name = path.name if path.is_absolute() or ".." in path.parts else data_dir  # a path of this machine says nothing
    if held := source.catalog.get("held_out"):
        name += f", dev: {held} held-out training rows"
    about = {
        "name": name,
        "whose": layout.data_kind(source.build),
        "faults": files.read_json(report).get("faults", []) if report.is_file() else [],
        "rows": _rows(source) if counted else {},
    }
    if source.tasks != COURSE:
        about["tasks"] = {task: stated(replace(of, files={})) for task, of in source.tasks.items()}
    return about


def _rows(source: Source) -> dict[str, dict[str, Any]]:
    """Return how many rows each split of each task has, and how many of each label, as in `tables.Rows`."""
    found: dict[str, dict[str, Any]] = {}
    for (name, task), split in itertools.product(source.tasks.items(), SPLITS):
        file = layout.examples(source.data, name, split)
        if file.is_file():
            labels = files.read_parquet(file, ["label"])["label"].to_numpy(float)
            counts = [] if np.isnan(labels).any() else _counted(labels, task)
            found.setdefault(name, {})[split] = {"rows": len(labels), "labels": counts}
    return found


def _counted(labels: np.ndarray, task: Task) -> list[int]:
    """Return how many labels are of each class, or in each fifth of a score's range."""
    score = task.kind == "score"
    bins, ends = (FIFTHS, (task.lowest, task.highest)) if score else (task.classes, (0, task.classes))
    return np.histogram(labels, bins, ends)[0].tolist()
