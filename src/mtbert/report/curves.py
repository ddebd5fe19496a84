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
    histories = {name: _histories(study, name) for name in study.variants}
    longest = max((max(one["step"], default=1) for several in histories.values() for one in several), default=1)
    width = math.ceil(longest / POINTS)
    columns = {
        name: pd.concat([binned(one, width).mean(axis=1) for one in several], axis=1).mean(axis=1)
        for name, several in histories.items()
    }
    return pd.DataFrame(columns).sort_index().round(5).rename_axis("step").reset_index()


def _histories(study: Study, name: str) -> list[Frame]:
    """The losses of a variant's own tasks, one table a seed."""
    history = study.results.history
    wanted = [f"loss/{task}" for task in study.about[name].tasks]
    mine = history[(history["variant"] == name) & history["name"].isin(wanted)]
    return [mine[mine["seed"] == seed] for seed in study.seeds[name]]


def binned(history: Frame, width: int) -> Frame:
    """Return the mean loss of each name by the last step of each bin of `width` steps.

    Args:
        history: columns step, name, value; a value is the mean over the updates since the step before.
        width: steps of a bin; one without a value takes what lies between its neighbours.
    """
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
