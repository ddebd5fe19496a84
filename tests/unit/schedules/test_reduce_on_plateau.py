"""Reduce on plateau, epoch by epoch, against torch's own."""

import pytest
import torch

from mtbert.training.schedules import SCHEDULES
from mtbert.training.schedules.base import Schedule

LOSSES = [1.0, 0.9, 0.95, 0.91, 0.92, 0.5, 0.49999, 0.6, 0.7, 0.8]
SCORES = [0.50, 0.55, 0.55, 0.54, 0.56, 0.56001, 0.56, 0.57, 0.1, 0.2]


def plateau(watch: str) -> Schedule:
    return SCHEDULES.build({"name": "reduce_on_plateau", "factor": 0.5, "watch": watch})


@pytest.mark.parametrize(("watch", "mode", "values"), [("train", "min", LOSSES), ("dev", "max", SCORES)])
def test_it_is_torchs(watch: str, mode, values: list[float]):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, mode, factor=0.5, patience=1, threshold=1e-4)
    ours = plateau(watch)
    for value in values:
        theirs.step(value)
        ours.observe(value, value)
        assert ours.factor(3, 10) == optimiser.param_groups[0]["lr"]


def test_scores_below_0_rise_like_others():
    schedule = plateau("dev")
    for score in (-0.2, -0.1, -0.05):
        schedule.observe(1.0, score)
    assert (schedule.factor(0, 1), schedule.state()) == (1.0, {"now": 1.0, "best": -0.05, "waited": 0})


def test_an_epoch_without_dev_scores_counts_neither_way():
    schedule = plateau("dev")
    for score in (0.5, None, None, None, 0.4, None, 0.4):
        schedule.observe(1.0, score)
    assert schedule.factor(0, 1) == 0.5


def test_only_dev_needs_dev():
    assert (plateau("dev").needs_dev, plateau("train").needs_dev) == (True, False)
    assert SCHEDULES.build({"name": "constant"}).needs_dev is False
