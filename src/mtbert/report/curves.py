"""Training loss against steps, small enough for `dvc plots` and pictures."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mtbert.report.study import Study
from mtbert.results.tables import Frame
from mtbert.tasks import TASKS

POINTS = 200  # at most, for the longest run


def losses(study: Study) -> Frame:
    """Return curves.csv: the mean training loss of every variant, over tasks, then over seeds.

    Each task's loss is averaged within bins of equally many steps; a bin without a batch of the task takes the value
    between its neighbours, so that which task was drawn does not move the curve, and a short last bin is a part of the
    one before.

    Returns:
        Column step (last of the bin) and one column per variant; NaN after the end of a shorter run.
    """
    histories = {name: _histories(study, name) for name in study.variants}
    longest = max((max(one["step"], default=1) for several in histories.values() for one in several), default=1)
    width = math.ceil(longest / POINTS)
    columns = {
        name: pd.concat([binned(one, width).mean(axis=1) for one in several], axis=1).mean(axis=1)
        for name, several in histories.items()
    }
    return pd.DataFrame(columns).sort_index().round(5).rename_axis("step").reset_index()


def by_task(study: Study, names: Sequence[str]) -> dict[str, dict[str, pd.Series]]:
    """Return each task's training loss by task and variant, a mean over seeds, by the bins' last steps.

    Only where every seed has a value, if there is such a bin: another mix of seeds would move the line.
    """
    curves: dict[str, dict[str, pd.Series]] = {task: {} for task in TASKS}
    for name in names:
        histories = _histories(study, name)
        width = math.ceil(max((max(one["step"], default=1) for one in histories), default=1) / POINTS)
        every = [binned(one, width) for one in histories]
        for task in study.about[name].tasks:
            seeds = [bins[column].dropna() for bins in every if (column := f"loss/{task}") in bins]
            if seeds:
                joined = pd.concat(seeds, axis=1).sort_index()
                whole = joined.dropna()
                curves[task][name] = (joined if whole.empty else whole).mean(axis=1)
    return {task: of for task, of in curves.items() if of}


def _histories(study: Study, name: str) -> list[Frame]:
    """The losses of a variant's own tasks, one table a seed."""
    history = study.results.history
    wanted = [f"loss/{task}" for task in study.about[name].tasks]
    mine = history[(history["variant"] == name) & history["name"].isin(wanted)]
    return [mine[mine["seed"] == seed] for seed in study.seeds[name]]


def binned(history: Frame, width: int) -> Frame:
    """Return the mean loss of each name by the last step of each bin of `width` steps.

    Args:
        history: columns step, name, value.
        width: steps of a bin; one without a value takes what lies between its neighbours.
    """
    steps, row = np.unique(_ends(history["step"].to_numpy(), width), return_inverse=True)
    names, column = np.unique(history["name"].to_numpy(dtype=str), return_inverse=True)
    at, shape = row * len(names) + column, (len(steps), len(names))
    written, before = np.unique(history["step"].to_numpy(), return_inverse=True)
    updates = np.diff(written, prepend=0)[before]  # how many each entry is a mean of
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
