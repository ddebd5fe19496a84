"""Reduce on plateau, epoch by epoch, against torch's own."""

import torch

from mtbert.learning.schedules import SCHEDULES

SCORES = [0.50, 0.55, 0.55, 0.54, 0.56, 0.56001, 0.56, 0.57, 0.1, 0.2]


def test_it_is_torchs():
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, "max", factor=0.5, patience=1, threshold=1e-4)
    ours = SCHEDULES.build(SCHEDULES.choose({"name": "reduce_on_plateau", "factor": 0.5}))
    for score in SCORES:
        theirs.step(score)
        ours.observe(score, loss=0.0)
        assert ours.factor(3, 10) == optimiser.param_groups[0]["lr"]


def test_scores_below_0_rise_like_others():
    schedule = SCHEDULES.build(SCHEDULES.choose({"name": "reduce_on_plateau"}))
    for score in (-0.2, -0.1, -0.05):
        schedule.observe(score, loss=0.0)
    assert (schedule.factor(0, 1), schedule.state()) == (1.0, {"reduction": 1.0, "best": -0.05, "waited": 0})


def test_a_loss_that_does_not_fall_is_a_plateau_whatever_dev_says():
    schedule = SCHEDULES.build(SCHEDULES.choose({"name": "reduce_on_plateau", "watches": "loss", "patience": 0}))
    assert not schedule.needs_dev
    rates = []
    for dev, loss in ((0.1, 2.0), (None, 1.0), (0.9, 1.0), (0.1, 0.5)):
        schedule.observe(dev, loss)
        rates.append(schedule.factor(0, 1))
    assert rates == [1.0, 1.0, 0.1, 0.1]


def test_an_epoch_without_a_dev_score_is_none_to_a_schedule_that_watches_it():
    schedule = SCHEDULES.build(SCHEDULES.choose({"name": "reduce_on_plateau", "patience": 0}))
    for dev in (0.5, None, None, 0.6):
        schedule.observe(dev, loss=1.0)
    assert schedule.factor(0, 1) == 1.0
