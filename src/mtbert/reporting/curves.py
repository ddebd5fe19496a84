"""Training loss against steps, one column per variant, small enough for `dvc plots`."""

import math
from pathlib import Path

import pandas as pd

from mtbert.errors import DataError
from mtbert.reporting.catalog import Catalog, Entry

POINTS = 200  # at most, for the longest run


def losses(build: Path, catalog: Catalog) -> pd.DataFrame:
    """Mean training loss of every selected variant.

    Each task's loss is averaged within bins of equally many steps; a bin without a batch of the task takes the value
    between its neighbours, so that which task was drawn does not move the curve. Then the mean over tasks,
    then over seeds.

    Returns:
        Column step (last of the bin) and one column per variant; NaN after the end of a shorter run.

    Raises:
        DataError: a history is missing; the message names the command that makes it.
    """
    selected = [entry for entry in catalog.selected if not entry.members]
    histories = {(e.name, seed): _task_losses(e, build, seed) for e in selected for seed in e.seeds}
    longest = max((max(history["step"], default=1) for history in histories.values()), default=1)
    width = math.ceil(longest / POINTS)
    runs = {key: binned(history, width) for key, history in histories.items()}
    columns = {e.name: pd.concat([runs[e.name, s] for s in e.seeds], axis=1).mean(axis=1) for e in selected}
    return pd.DataFrame(columns).sort_index().round(5).rename_axis("step").reset_index()


def task_loss(build: Path, entry: Entry, task: str) -> pd.Series:
    """One task's training loss, averaged within bins of equally many steps and over seeds, by the bins' last steps."""
    found = [_task_losses(entry, build, seed) for seed in entry.seeds]
    width = math.ceil(max((max(history["step"], default=1) for history in found), default=1) / POINTS)
    of_task = [binned(history.loc[history["name"] == f"loss/{task}"], width) for history in found]
    return pd.concat(of_task, axis=1).mean(axis=1).sort_index()


def binned(history: pd.DataFrame, width: int) -> pd.Series:
    """Mean loss over tasks by the last step of each bin of `width` steps; history has columns step, name, value."""
    bins = history.assign(step=(history["step"] + width - 1) // width * width)
    by_task = bins.pivot_table(index="step", columns="name", values="value").interpolate(limit_area="inside")
    return by_task.mean(axis=1)


def _task_losses(entry: Entry, build: Path, seed: int) -> pd.DataFrame:
    file = entry.directory(build, seed) / "history.csv"
    if not file.is_file():
        raise DataError(f"{file} is missing; `{entry.remake(seed)}` makes it")
    try:
        history = pd.read_csv(file, usecols=["step", "name", "value"])
    except ValueError as error:  # not UTF-8, no table, or without one of the columns
        raise DataError(f"{file} is damaged: {error}; `{entry.remake(seed)}` makes it again") from None
    return history.loc[history["name"].isin([f"loss/{task}" for task in entry.tasks])]
