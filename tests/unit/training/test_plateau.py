"""Reduce on plateau, epoch by epoch, against torch's own."""

import torch

from mtbert.training.schedules import SCHEDULES

LOSSES = [1.0, 0.9, 0.95, 0.91, 0.92, 0.5, 0.49999, 0.6, 0.7, 0.8]


def test_the_rate_after_each_epoch():
    schedule = SCHEDULES.build({"name": "reduce_on_plateau", "factor": 0.5})
    found = []
    for loss in LOSSES:
        schedule.observe(loss)
        found.append(schedule.factor(0, 1))
    # 0.95 and 0.91 are two without progress, 0.92 and then 0.5 one and progress; 0.49999 is not 0.01 % better
    assert found == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125]


def test_it_is_torchs():
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.5, patience=1, threshold=1e-4)
    ours = SCHEDULES.build({"name": "reduce_on_plateau", "factor": 0.5})
    for loss in LOSSES:
        theirs.step(loss)
        ours.observe(loss)
        assert ours.factor(3, 10) == optimiser.param_groups[0]["lr"]
