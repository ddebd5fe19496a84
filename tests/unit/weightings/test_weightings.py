"""Weightings that are given, drawn or follow the losses, on cases worked out by hand."""

import math

import pytest
import torch
from torchjd.scalarization import DWA, FAMO

from mtbert.errors import TrainingError
from mtbert.training.weightings import WEIGHTINGS
from mtbert.training.weightings.base import Weighting

TASKS = ["sst", "sts"]


def build(name: str, **options) -> Weighting:
    return WEIGHTINGS.build({"name": name, **options}, TASKS, torch.Generator().manual_seed(7))


def values(losses: dict[str, torch.Tensor]) -> dict[str, float]:
    return {task: loss.item() for task, loss in losses.items()}


def weighted(weighting: Weighting, **losses: float) -> dict[str, float]:
    tensors = {task: torch.tensor(loss, dtype=torch.float64) for task, loss in losses.items()}
    return values(weighting(tensors, values))


def test_fixed_weights_are_those_given_and_1():
    assert weighted(build("fixed", weights={"sts": 0.5}), sst=3.0, sts=4.0) == {"sst": 3.0, "sts": 2.0}


def test_random_weights_are_drawn_once_an_update_and_add_up_to_the_number_of_tasks():
    weighting = build("random")
    first = weighted(weighting, sst=1.0, sts=1.0)
    assert sum(first.values()) == pytest.approx(2.0)
    assert weighted(weighting, sst=1.0, sts=1.0) == first  # as where a step is tried twice
    weighting.after_update({}, dict)
    assert weighted(weighting, sst=1.0, sts=1.0) != first


def test_uncertainty_halves_scores_and_not_classes():
    weighting = build("uncertainty")
    assert weighted(weighting, sst=3.0, sts=3.0) == {"sst": 3.0, "sts": 1.5}
    weighting.s["sts"].data.fill_(0.5)
    assert weighted(weighting, sts=3.0)["sts"] == pytest.approx(1.5 * math.exp(-0.5) + 0.25)


def test_a_dynamic_average_is_torchjds():
    weighting, theirs = build("dynamic_average"), DWA()
    for sst, sts in ((4.0, 2.0), (2.0, 1.5), (1.0, 1.4), (1.1, 0.1)):
        ours = weighted(weighting, sst=sst, sts=sts)
        assert sum(ours.values()) == pytest.approx(theirs(torch.tensor([sst, sts], dtype=torch.float64)).item())
        weighting.after_epoch({"sst": sst, "sts": sts})
        theirs.step()


def test_a_dynamic_average_counts_a_task_the_more_the_less_its_loss_fell():
    weighting = build("dynamic_average", temperature=1.0)
    weighting.after_epoch({"sst": 4.0, "sts": 2.0})
    assert weighted(weighting, sst=1.0, sts=1.0) == {"sst": 1.0, "sts": 1.0}
    weighting.after_epoch({"sst": 2.0, "sts": 2.0})  # to 1/2, and not at all
    share = math.exp(0.5) / (math.exp(0.5) + math.e)
    assert weighted(weighting, sst=1.0, sts=1.0) == pytest.approx({"sst": 2 * share, "sts": 2 - 2 * share})


def test_famo_is_torchjds_times_the_number_of_tasks():
    weighting, theirs = build("famo"), FAMO(2, weight_decay=0.01).double()
    for before, after in (((4.0, 2.0), (2.0, 1.9)), ((1.0, 3.0), (0.5, 2.9)), ((0.7, 0.2), (0.9, 0.1))):
        losses = torch.tensor(before, dtype=torch.float64, requires_grad=True)
        theirs(losses).backward()
        ours = weighted(weighting, sst=before[0], sts=before[1])
        counted = [ours["sst"] / before[0], ours["sts"] / before[1]]
        assert counted == pytest.approx((2 * losses.grad).tolist(), rel=1e-6)
        weighting.after_update(
            dict(zip(TASKS, before, strict=True)), lambda now=after: dict(zip(TASKS, now, strict=True))
        )
        theirs.update(torch.tensor(after, dtype=torch.float64))


def test_famo_refuses_a_loss_below_0():
    with pytest.raises(TrainingError, match=r"one is below 0 \(sts: -1.0\); allowed"):
        weighted(build("famo"), sst=1.0, sts=-1.0)
