"""Read every trained, merged and voted model of a build folder once, check it, and make tables of them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import changes, seals
from mtbert.scores import average_precision, checks, model_rows, outdated, points, predictions, sets, tables
from mtbert.scores.columns import CONFIDENCE, FOLD, KEY, MOVES, UNCALIBRATED, Frame, Predictions
from mtbert.scores.described import BASELINES, BY_OTHERS, UNTRAINED
from mtbert.scores.model_rows import Source, shared_cells, source_of
from mtbert.scores.results import Results
from mtbert.tasks import SPLITS, Task, Tasks

# Of a model's files.
READ = (layout.METRICS, layout.SETTINGS, layout.INPUTS, layout.HISTORY, layout.EMBEDDINGS, layout.ELSEWHERE)
SHARED = ("in_train", "shares", "shared_cluster")  # columns of what rows of dev share with other files
NO_FACTS = {"cluster": -1, FOLD: -1, "in_train": False, "shares": False}  # of the rows of other splits


@dataclass
class ModelFolder:
    """A model as its folder holds it.

    Attributes:
        folder: where it lies.
        row: of `runs`, by column.
        predictions: by split and task.
        history: what its training logged; None of kinds that have none.
        points: places of dev sentences in a picture; None where it has none, or no picture is asked for.
    """

    folder: Path
    row: Mapping[str, Any]
    predictions: Predictions
    history: Frame | None
    points: Frame | None = None

    @property
    def key(self) -> dict[str, Any]:
        """Its variant and seed, which are columns of each table."""
        return {name: self.row[name] for name in KEY}


def collect(build: Path, seeds: Sequence[int] | None = None, pictures: bool = True) -> Results:
    """Return the results of all models that the plan asks for and that are there; with `seeds` of these alone.

    Models that train on a part of train's rows are left out: nothing is to be compared with them but one another. So
    are runs that a training of now would not make, and merges and votes of them.

    `pictures` is that of `read_models`.

    Raises:
        DataError: no catalog, nothing has run, or as for `read_models`.
    """
    catalog = layout.read_catalog(build, "ensembles", "seeds")
    ensembles, selected = catalog["ensembles"], catalog["seeds"] if seeds is None else seeds
    left_out = outdated.of_build(build, seeds)
    runs = [run for run in outdated.runs_there(build, seeds) if run not in left_out]
    if not runs:
        reason = outdated.in_words(left_out)
        raise DataError(
            f"no results below {build}; `dvc repro` makes those that params.yaml asks for. {reason}".strip()
        )
    of_runs = list[Path]()
    for folder in (layout.merged(build), layout.votes(build)):
        for model in outdated.there(folder, ensembles, selected):
            members = [layout.run(build, name, model.name) for name in ensembles[model.parent.name]["members"]]
            if not left_out.keys() & {*members}:
                of_runs.append(model)
    return read_models(build, [*_baselines(build), *runs, *of_runs], pictures)


def _baselines(build: Path) -> list[Path]:
    """Return the folders of the baselines that are there, the untrained encoder first, predictions of others last."""
    return [folder for name in (UNTRAINED, *BASELINES, f"{BY_OTHERS}*") for folder in layout.baselines_of(build, name)]


def read_models(build: Path, folders: Sequence[Path], pictures: bool = True) -> Results:
    """Return the results of the models in these folders, made from what lies in `build`.

    `pictures` adds what only pictures need: the points of sentences of each variant's first seed, and how many rows and
    labels the data have.

    Raises:
        DataError: a model was altered, is not whole or is of other rows or classes than `build` has now, or models do
            not fit together; named.
    """
    source = source_of(build)
    for folder in folders:
        check(source, folder)
    changes.check_rows(build, folders)
    models = [load(source, folder) for folder in folders]
    if pictures:
        place(models, source)
    return as_results(source, models, with_counts=pictures)


def as_results(source: Source, models: Sequence[ModelFolder], with_counts: bool = True) -> Results:
    """Return the tables of these models; DataError if they do not fit together."""
    results = Results(
        _table_of_runs(source, models, with_counts),
        _table_of_predictions(models, source.tasks),
        _table_of_history(models, source.tasks),
        _table_of_points(models, source.tasks),
    )
    checks.check(results, str(source.build))
    return results


def check(source: Source, folder: Path) -> None:
    """Raise DataError if one of the files that are read of a model is not as it was written."""
    predicted = [layout.predictions(Path(), task, split) for task, split in itertools.product(source.tasks, SPLITS)]
    seals.check(folder, only=[*READ, *(file.as_posix() for file in predicted)])


def load(source: Source, folder: Path) -> ModelFolder:
    """Read a model; DataError if one of its files holds something else."""
    row = model_rows.of_model(source, folder)
    history = folder / layout.HISTORY
    temperatures = files.read_json(folder / layout.METRICS).get("temperatures", {})
    predicted = _predicted(source, folder, temperatures)
    return ModelFolder(folder, row, predicted, _history(history) if history.is_file() else None)


def _predicted(source: Source, folder: Path, temperatures: Mapping[str, float]) -> Predictions:
    """Return a model's predictions, with what preprocessing found of the rows and its confidence in each."""
    predicted: Predictions = {split: {} for split in SPLITS}
    for split, task in itertools.product(SPLITS, source.tasks):
        file = layout.predictions(folder, task, split)
        if file.is_file():
            table: Frame = files.read_parquet(file)
            described = source.tasks[task]
            has_facts = split == "dev" and layout.examples(source.data, task, split).is_file()
            facts = _facts_of_dev(source, folder, described, table["id"]) if has_facts else {}
            table = table.assign(**{"row": np.arange(len(table)), **NO_FACTS, **facts})
            if described.several:
                predicted[split][task] = _with_moves(table, described)
            else:
                predicted[split][task] = _with_confidence(table, described, temperatures.get(task))
    return predicted


def _facts_of_dev(source: Source, folder: Path, task: Task, ids: Frame) -> dict[str, Any]:
    """Return what preprocessing found of the rows of dev that a model predicts, by column.

    Of a task with folds those are the rows of its seed's fold; what has no seed predicts all.
    """
    file = layout.examples(source.data, task.name, "dev")
    facts: Frame = files.read_parquet(file, ["id", "cluster", *([FOLD] if task.folds else [])])
    shared: Frame = files.read_parquet(layout.shared(source.data, task.name), ["id", *SHARED])
    facts = facts.join(shared.set_index("id"), on="id").rename_axis("row").reset_index()
    if task.folds and not layout.is_baseline(folder):
        facts = facts[facts[FOLD] == task.fold(int(folder.name))].reset_index(drop=True)
    if not facts["id"].equals(ids):
        raise DataError(f"{file} and the predictions are of other rows; `dvc repro` makes both again")
    return {name: facts[name] for name in facts if name != "id"}


def _with_confidence(table: Frame, task: Task, temperature: float | None) -> Frame:
    """Add the probability of the predicted class; a score has none, nor has the untrained encoder.

    With a temperature also add what it was before: p^T of each class, over their sum.
    """
    columns = predictions.probability_columns(task)
    if not {*columns} or not {*columns} <= {*table}:
        return table
    probabilities = table[columns].to_numpy()
    classes = table["prediction"].to_numpy(int)
    every = np.arange(len(table))
    confidence = {CONFIDENCE: probabilities[every, classes]}
    if temperature is not None:
        powers = probabilities**temperature
        confidence[UNCALIBRATED] = powers[every, classes] / powers.sum(axis=1)
    return table.assign(**confidence)


def _with_moves(table: Frame, task: Task) -> Frame:
    """Add by how much each row that counts moves the mean average precision, where its labels are known."""
    columns, counts = predictions.probability_columns(task), table["scored"].to_numpy(bool)
    if not {*columns} <= {*table} or table["label"][counts].isna().any():
        return table
    members = sets.members_of(table["label"].to_numpy()[counts], task.classes)
    moves = np.full(len(table), np.nan)
    moves[counts] = average_precision.moves(members, table[columns].to_numpy(float)[counts])
    return table.assign(**{MOVES: moves})


def _history(file: Path) -> Frame:
    try:
        return pd.read_csv(file, usecols=["phase", "step", "name", "value"])
    except ValueError as error:  # not UTF-8, no table, or without one of the columns
        raise DataError(f"{file} is damaged: {error}") from None


def place(models: Sequence[ModelFolder], source: Source) -> None:
    """Give each variant's first seed that has embeddings the places of its dev sentences in a picture."""
    first_seeds: dict[str, ModelFolder] = {}
    for model in models:
        if (model.folder / layout.EMBEDDINGS).is_file():
            first_seeds.setdefault(model.row["variant"], model)
    embeddings = [model.folder / layout.EMBEDDINGS for model in first_seeds.values()]
    dev_tables = [model.predictions["dev"] for model in first_seeds.values()]
    labels = [{task: _labels_by_row(table) for task, table in by_task.items()} for by_task in dev_tables]
    places = points.of_runs(embeddings, labels, source.tasks, layout.cache(source.build, "points"))
    for model, table in zip(first_seeds.values(), places, strict=True):
        model.points = table


def _labels_by_row(table: Frame) -> np.ndarray:
    """Return the labels of dev rows by their numbers; NaN of a row of another fold."""
    rows = table["row"].to_numpy(int)
    labels = np.full(rows.max(initial=-1) + 1, np.nan)
    labels[rows] = table["label"].to_numpy(float)
    return labels


def _table_of_runs(source: Source, models: Sequence[ModelFolder], with_counts: bool) -> Frame:
    """Return the table `runs`; each row says of the data and the starting weights what all share."""
    shared = shared_cells(source, with_counts)
    return tables.joined([pd.DataFrame([{**model.row, **shared} for model in models])], "runs", source.tasks)


def _table_of_predictions(models: Sequence[ModelFolder], tasks: Tasks) -> Frame:
    parts: list[Frame] = []
    for model in models:
        for split, by_task in model.predictions.items():
            for task, table in by_task.items():
                parts.append(table.assign(**model.key, task=task, split=split))
    return tables.joined(parts, "predictions", tasks)


def _table_of_history(models: Sequence[ModelFolder], tasks: Tasks) -> Frame:
    parts: list[Frame] = []
    for model in models:
        if model.history is not None:
            parts.append(model.history.assign(**model.key))
    return tables.joined(parts, "history", tasks)


def _table_of_points(models: Sequence[ModelFolder], tasks: Tasks) -> Frame:
    parts: list[Frame] = []
    for model in models:
        if model.points is not None:
            parts.append(model.points.assign(**model.key))
    return tables.joined(parts, "points", tasks)
