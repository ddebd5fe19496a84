"""Make a build directory of the evidence, with as much as the report reads."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.reporting import embeddings, mistakes
from mtbert.reporting.archive import layout
from mtbert.reporting.archive.layout import DEV_ROWS, OTHERWISE, ROW, SHARED, TEXTS
from mtbert.tasks import TASKS, Split, Task

WITHHELD = pd.DataFrame({"id": ["withheld"], "label": [np.nan], "prediction": [0.0], "scored": [True]})


def unpack(directory: Path, build: Path) -> None:
    """Make a build directory of the evidence, from which the report is written.

    Raises:
        DataError: there is no evidence, a file of it is altered, missing or too many, or a run's own files are not
            those of its digests.
    """
    _check(directory)
    for file in (file for file in (directory / "facts").rglob("*") if file.is_file()):
        files.write_text(build / file.relative_to(directory / "facts"), file.read_text(encoding="utf-8"))
    runs = files.read_parquet(directory / "runs.parquet")
    places = {f"{run['name']}/{run['seed']}": layout.place(build, run) for run in runs.to_dict("records")}
    for run in runs.to_dict("records"):
        _unpack_run(run, places[f"{run['name']}/{run['seed']}"])
    for file in sorted((directory / "predictions").glob("*.parquet")):
        _unpack_task(directory, file, build, places)
    for run in runs.to_dict("records"):
        place = places[f"{run['name']}/{run['seed']}"]
        files.seal(place)
        if run["run.json"]:
            files.write_text(files.log_directory(build, place) / "run.json", run["run.json"])
    _unpack_data(directory, build)
    (build / "searches").mkdir(exist_ok=True)  # none of where this runs


def _check(directory: Path) -> None:
    if not (directory / files.DIGESTS).is_file():
        raise DataError(f"{directory} holds no {files.DIGESTS}, so `mtbert evidence` did not write it")
    digests = files.read_as(dict[str, str], directory / files.DIGESTS, f"git checkout {directory}")
    if said := files.differences(directory, digests):
        raise DataError(f"the evidence in {directory} is not as it was packed ({said}); `git checkout {directory}` "
                        "brings back what was committed")  # fmt: skip


def _unpack_run(run: Mapping[str, Any], place: Path) -> None:
    """A run's own words, which have to be those of its digests; and of what is withheld, that it was predicted."""
    digests = json.loads(run[files.DIGESTS])
    for name in (name for name in TEXTS if run[name]):
        files.write_text(place / name, run[name])
        if files.sha256(place / name) != digests.get(name):
            raise DataError(f"in the evidence {name} of {run['name']}, seed {run['seed']}, is not as its run left it")
    for what in run["withheld"].split():
        task, split = what.rsplit("-", 1)
        _predict(place, WITHHELD, TASKS[task], cast(Split, split), np.zeros((1, TASKS[task].classes)))


def _unpack_task(directory: Path, file: Path, build: Path, places: Mapping[str, Path]) -> None:
    """Every run's prediction file of a task and split and, of dev, which rows share a sentence."""
    name, split = file.stem.rsplit("-", 1)
    task, packed = TASKS[name], files.read_parquet(file)
    runs = [column for column in packed if column not in (*ROW, *SHARED) and not column.endswith(OTHERWISE)]
    if unknown := [run for run in runs if run not in places]:
        raise DataError(f"{file} holds predictions of {', '.join(unknown)}, which runs.parquet does not list")
    if set(SHARED) <= set(packed):
        shared = packed[["id", *SHARED]]
        words = {column: np.where(shared[column], "yes", "") for column in ("in_train", "in_pretraining")}
        layout.write(shared.assign(**words), build / "data" / name / DEV_ROWS)
    chances = directory / "probabilities" / f"{name}.parquet"
    counts = files.read_parquet(chances) if layout.has_probabilities(task, split) else None
    for run in runs:
        scored = packed[f"{run}{OTHERWISE}" if f"{run}{OTHERWISE}" in packed else "scored"]
        table = (
            packed[ROW]
            .assign(scored=scored, prediction=packed[run].astype(float))
            .dropna(subset="prediction", ignore_index=True)
        )
        likely = np.zeros((len(table), task.classes))
        if counts is not None:
            columns = [f"{run}/{label}" for label in range(len(predictions.probability_columns(task)) - 1)]
            likely = mistakes.of_thousandths(counts[columns].to_numpy())
        _predict(places[run], table, task, cast(Split, split), likely)


def _predict(place: Path, table: pd.DataFrame, task: Task, split: Split, likely: np.ndarray) -> None:
    columns = predictions.probability_columns(task)
    whole = pd.concat([table, pd.DataFrame(likely[:, : len(columns)], table.index, columns)], axis=1)
    file = predictions.path(place, task.name, split)
    predictions.write(file, pd.DataFrame(whole, columns=["id", "label", "prediction", *columns, "scored"]), task)


def _unpack_data(directory: Path, build: Path) -> None:
    """Labels, sentences where there are any, and the places of embeddings."""
    for key, lines in files.read_parquet(directory / "labels.parquet").groupby(["task", "split"]):
        task, split = cast(tuple[str, str], key)
        labels = np.repeat(lines["label"].to_numpy(), lines["rows"].to_numpy())
        layout.write(pd.DataFrame({"label": labels}), build / "data" / task / f"{split}.parquet")
    for file in (directory / "sentences").glob("*.parquet"):
        layout.write(files.read_parquet(file), build / "data" / file.stem / "dev.parquet")
    layout.write(files.read_parquet(directory / "clouds.parquet"), build / embeddings.CLOUDS)
