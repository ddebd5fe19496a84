"""Check that the tables say the same: files of strangers may hold anything."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files
from mtbert.errors import DataError, first_of
from mtbert.scores import predictions
from mtbert.scores.columns import COSTS, KEY, UNIQUE, WEIGHTS, Frame, example_columns, score_columns
from mtbert.scores.described import RunDescription
from mtbert.scores.results import Results
from mtbert.tasks import SPLITS

ROUNDING = 1e-9  # by which two sums of the same numbers may differ
OTHER_TRAINING = "settings or code of another seed of the variant are others; `dvc repro` trains what is out of date"
OTHER_ROWS = "rows or labels that are others in another run; train both on the same data (`dvc repro`)"
TRAIN_AGAIN = "`dvc repro --force --single-item train@VARIANT-SEED` makes both"


def check(results: Results, source: str) -> None:
    """Raise DataError with source and run if a value is of another kind than its column, or tables contradict."""
    try:
        _check_runs(results)
        _check_counts(results)
        _check_duplicates(results)
        _check_copies(results)
        _check_names(results)
        _check_rows(results)
        _check_scores(results)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def _refuse(message: str, table: Frame, is_faulty: Any) -> None:
    """Raise DataError with the runs of the faulty rows of a table, which has the columns of `KEY`."""
    runs = table[is_faulty][KEY].drop_duplicates()
    if len(runs):
        names = [f"{run.variant}, seed {run.seed}" for run in runs.itertuples()]
        raise DataError(f"{message}: {first_of(names, 3)}")


def _check_runs(results: Results) -> None:
    """Runs of a report have profile, data and encoder in common, and all seeds of a variant settings and code."""
    descriptions = results.descriptions
    shared = {
        "profile": [run.settings.profile for run in descriptions],
        "data": [run.data.name for run in descriptions],
        "description of the tasks": [json.dumps(run.data.tasks, sort_keys=True) for run in descriptions],
        "set of training rows": _sets_of_training_rows(descriptions),
        "encoder": _encoders(descriptions),
    }
    for name, values in shared.items():
        _refuse(f"runs of more than one {name}; a report is of one", results.runs, np.array(values) != values[0])
    trainings = results.trained.drop_duplicates(["variant", "settings", "code"])
    _refuse(OTHER_TRAINING, trainings, trainings.duplicated("variant"))


def _encoders(descriptions: Sequence[RunDescription]) -> list[str]:
    """Return as text of each run all that it says of its encoder; where it says no revision, that of others."""
    of_others = next((run.start.revision for run in descriptions if run.start.revision), "")
    return [f"{run.start.name}\n{run.start.note}\n{run.start.revision or of_others}" for run in descriptions]


def _sets_of_training_rows(descriptions: Sequence[RunDescription]) -> list[str]:
    """Return as text of each run how many rows of train each task and label has; where nobody counted, as of others."""
    every = [
        {task: splits["train"].model_dump() for task, splits in run.data.rows.items() if "train" in splits}
        for run in descriptions
    ]
    of_others = next(filter(None, every), {})
    return [json.dumps(counts or of_others, sort_keys=True) for counts in every]


def _check_counts(results: Results) -> None:
    """Counts, times and sizes are numbers of 0 and more."""
    names = ["steps", "epoch", *WEIGHTS, *example_columns(results.tasks), "seconds", *COSTS]
    counts = results.runs[names].astype(float)
    is_faulty = (counts < 0) | np.isinf(counts)
    columns = ", ".join(is_faulty.columns[is_faulty.any()])
    _refuse(f"{columns} below 0 or infinite", results.runs, is_faulty.any(axis=1))


def _check_copies(results: Results) -> None:
    """No two seeds of a variant have logged the same values and predicted the same, as a run and its copy do."""
    history = results.history.set_index([*KEY, "phase", "step", "name"])["value"].rename("value")
    digests: dict[str, list[tuple[str, int]]] = {}
    for (variant, seed), logged in history.groupby(level=KEY, observed=True, sort=False):
        digest = files.sha256_of(logged.droplevel(KEY).to_csv().encode())
        digests.setdefault(f"{variant} {digest}", []).append((str(variant), int(seed)))
    for (variant, first), *others in digests.values():
        for _, seed in others:
            if _predictions_of(results, variant, first) == _predictions_of(results, variant, seed):
                raise DataError(
                    f"{variant}: seed {seed} has the losses and predictions of seed {first}, so one is a copy of the "
                    "other; allowed: a training for each seed"
                )


def _predictions_of(results: Results, variant: str, seed: int) -> dict[tuple[str, str], list[float]]:
    """Return what a run has predicted, by split and task."""
    return {
        (split, task): table["prediction"].tolist()
        for split in SPLITS
        for task, table in results.by_run.get((variant, seed, split), {}).items()
    }


def _check_duplicates(results: Results) -> None:
    """No row stands twice in a table."""
    for name, columns in UNIQUE.items():
        table = getattr(results, name)
        _refuse(f"{name} twice, or unlike in two sources", table, table.duplicated(columns))


def _check_names(results: Results) -> None:
    """Tasks and splits are those that the data describe."""
    are_described = [{*run.settings.tasks} <= {*results.tasks} for run in results.descriptions]
    _refuse("tasks that its data do not describe", results.runs, ~np.array(are_described))
    predicted = results.predictions
    for column, names in (("task", [*results.tasks]), ("split", [*SPLITS])):
        _refuse(f"unknown {column}; known: {', '.join(names)}", predicted, ~predicted[column].isin(names))


def _check_rows(results: Results) -> None:
    """Dev and test have the same rows and labels in all runs."""
    predicted = results.predictions
    shared = predicted[predicted["split"] != "train"]  # each run draws its own training rows
    distinct = shared.drop_duplicates(["task", "split", "row", "id", "label"])
    _refuse(OTHER_ROWS, distinct, distinct.duplicated(["task", "split", "row"]))


def _check_scores(results: Results) -> None:
    """Scores are those of the predictions."""
    by_run = computed_scores(results)
    if not by_run:  # all labels are withheld
        return
    runs = results.runs.set_index(KEY)
    # Evidence before 2026-11-28 has the encoder's scores without its predictions.
    has_predictions = (runs["kind"] != "encoder") | runs.index.isin(by_run)
    stated = runs.loc[has_predictions, [*score_columns(results.tasks)]]
    stated, computed = stated.align(pd.DataFrame.from_dict(by_run, orient="index").rename_axis(KEY))
    differ = ((stated - computed).abs() > ROUNDING) | (stated.isna() != computed.isna())
    columns = ", ".join(differ.columns[differ.any()])
    message = f"{columns} not as the predictions say; {TRAIN_AGAIN}"
    _refuse(message, stated.index.to_frame(), differ.any(axis=1))


def computed_scores(results: Results) -> dict[tuple[str, int], dict[str, float]]:
    """Return every score by run, then by column such as `dev_sst`; none where labels are withheld."""
    by_run: dict[tuple[str, int], dict[str, float]] = {}
    for (variant, seed, split), tables in results.by_run.items():
        scores = by_run.setdefault((variant, seed), {})
        for metric, score in predictions.scores(tables, results.tasks).items():
            scores[f"{split}_{metric}"] = score
    return by_run
