"""Training loss against steps, small enough for `dvc plots`."""

import math

import numpy as np
import pandas as pd

from mtbert.report.study import Study
from mtbert.results.tables import Frame

POINTS = 200  # at most, for the longest run


def losses(study: Study) -> Frame:
    """Return curves.csv: the mean training loss of every variant, over tasks, then over seeds.

    Each task's loss is averaged within bins of equally many steps; a bin without a batch of the task takes the value
    between its neighbours, so that which task was drawn does not move the curve, and a short last bin is a part of the
    one before.

    Returns:
        Column step (last of the bin) and one column per variant; NaN after the end of a shorter run.
    """
    every, variants = study.results.history, study.variants
    own = {(name, f"loss/{task}") for name in variants for task in study.about[name].tasks}
    history = every[[pair in own for pair in zip(every["variant"], every["name"], strict=True)]]
    width = math.ceil(history["step"].max() / POINTS) if len(history) else 1
    runs = history.groupby(["variant", "seed"], observed=True)
    curves: Frame = pd.DataFrame({run: _binned(table, width).mean(axis=1) for run, table in runs})
    columns = {name: curves[name].mean(axis=1) for name in variants if name in curves}
    return pd.DataFrame(columns, columns=variants).sort_index().round(5).rename_axis("step").reset_index()


def _binned(history: Frame, width: int) -> Frame:
    """Return the mean loss of each name by the last step of each bin; a value stands for the updates since the last."""
    steps = np.unique(history["step"])
    updates = history["step"].map(dict(zip(steps, np.diff(steps, prepend=0), strict=True)))
    table = pd.DataFrame({"step": _ends(history["step"].to_numpy(), width), "name": history["name"].astype(str)})
    table = table.assign(loss=history["value"] * updates, updates=updates)
    sums: Frame = table.groupby(["step", "name"]).sum()
    return (sums["loss"] / sums["updates"]).unstack().interpolate(limit_area="inside")


def _ends(steps: np.ndarray, width: int) -> np.ndarray:
    """The last step of each one's bin; a last bin of fewer updates than the one before is a part of that."""
    ends = (steps + width - 1) // width * width
    bins = np.unique(ends)
    if len(bins) > 2 and steps.max() - bins[-2] < bins[-2] - bins[-3]:
        ends[ends == bins[-2]] = bins[-1]
    return ends
