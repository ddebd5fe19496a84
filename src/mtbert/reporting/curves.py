"""Training loss against steps, one column per variant, small enough for `dvc plots`."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from mtbert.errors import DataError
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.tasks import TASKS

POINTS = 200  # at most, for the longest run


def losses(build: Path, completed: Completed) -> pd.DataFrame:
    """Mean training loss of every variant.

    Each task's loss is averaged within bins of equally many steps; a bin without a batch of the task takes the value
    between its neighbours, so that which task was drawn does not move the curve, and a short last bin is a part of the
    one before. Then the mean over tasks, then over seeds.

    Returns:
        Column step (last of the bin) and one column per variant; NaN after the end of a shorter run.

    Raises:
        DataError: a history is missing; the message names the command that makes it.
    """
    variants = completed.variants
    histories = {(e.name, seed): _task_losses(e, build, seed) for e in variants for seed in e.seeds}
    longest = max((max(history["step"], default=1) for history in histories.values()), default=1)
    width = math.ceil(longest / POINTS)
    runs = {key: binned(history, width) for key, history in histories.items()}
    columns = {e.name: pd.concat([runs[e.name, s] for s in e.seeds], axis=1).mean(axis=1) for e in variants}
    return pd.DataFrame(columns).sort_index().round(5).rename_axis("step").reset_index()


def by_task(build: Path, completed: Completed) -> dict[str, dict[str, pd.Series]]:
    """Each task's training loss by task and variant, a mean over the seeds there are."""
    curves: dict[str, dict[str, pd.Series]] = {}
    for entry in completed.variants:
        for task, loss in of_tasks(build, entry).items():
            curves.setdefault(task, {})[entry.name] = loss
    return {task: curves[task] for task in TASKS if task in curves}


def of_tasks(build: Path, entry: CompletedEntry) -> dict[str, pd.Series]:
    """Each task's training loss, averaged within bins of equally many steps and over seeds, by the bins' last steps.

    Only where every seed has a value, if there is such a bin: another mix of seeds would move the line.
    """
    histories = [_task_losses(entry, build, seed) for seed in entry.seeds]
    width = math.ceil(max((max(history["step"], default=1) for history in histories), default=1) / POINTS)
    every = [binned_by_task(history, width) for history in histories]
    means = {}
    for task in entry.tasks:
        losses = [bins[name].dropna() for bins in every if (name := f"loss/{task}") in bins]
        if losses:
            of_seeds = pd.concat(losses, axis=1).sort_index()
            whole = of_seeds.dropna()
            means[task] = (of_seeds if whole.empty else whole).mean(axis=1)
    return means


def binned(history: pd.DataFrame, width: int) -> pd.Series:
    """Mean loss over tasks by the last step of each bin of `width` steps; history has columns step, name, value."""
    return binned_by_task(history, width).mean(axis=1)


def binned_by_task(history: pd.DataFrame, width: int) -> pd.DataFrame:
    """The same before the mean: a column for each name, a bin without a value between its neighbours."""
    steps, row = np.unique(_ends(history["step"].to_numpy(), width), return_inverse=True)
    names, column = np.unique(history["name"].to_numpy(dtype=str), return_inverse=True)
    at, shape = row * len(names) + column, (len(steps), len(names))
    updates = _updates(history["step"].to_numpy())
    counts = np.bincount(at, weights=updates, minlength=len(steps) * len(names)).reshape(shape)
    values = history["value"].to_numpy(dtype=float)
    sums = np.bincount(at, weights=updates * values, minlength=counts.size).reshape(shape)
    means = np.where(counts, sums / np.maximum(counts, 1), np.nan)
    frame = pd.DataFrame(means, pd.Index(steps, name="step"), pd.Index(names, name="name"))
    return frame.interpolate(limit_area="inside")


def _ends(steps: np.ndarray, width: int) -> np.ndarray:
    """The last step of each one's bin; a last bin of fewer updates than the one before is a part of that."""
    ends = (steps + width - 1) // width * width
    bins = np.unique(ends)
    if len(bins) > 2 and steps.max() - bins[-2] < bins[-2] - bins[-3]:
        ends[ends == bins[-2]] = bins[-1]
    return ends


def _updates(steps: np.ndarray) -> np.ndarray:
    """How many updates each entry is a mean of: those since the step that was written before."""
    written, at = np.unique(steps, return_inverse=True)
    return np.diff(written, prepend=0)[at]


def _task_losses(entry: CompletedEntry, build: Path, seed: int) -> pd.DataFrame:
    history = read(entry, build, seed, ["step", "name", "value"])
    return history.loc[history["name"].isin([f"loss/{task}" for task in entry.tasks])]


def read(entry: CompletedEntry, build: Path, seed: int, columns: list[str]) -> pd.DataFrame:
    """These columns of a run's history.csv; DataError where it is missing, altered or damaged."""
    file = entry.file(build, seed, "history.csv")
    try:
        return pd.read_csv(file, usecols=columns)
    except ValueError as error:  # not UTF-8, no table, or without one of the columns
        raise DataError(f"{file} is damaged: {error}; `{entry.remake(seed)}` makes it again") from None
