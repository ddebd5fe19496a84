"""Weightings that are given, drawn or follow the losses, on cases worked out by hand."""

import math

import pytest
import torch
from torchjd.scalarization import DWA, FAMO

from mtbert.learning.states import device_types
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.learning.weightings.base import Weighting
from mtbert.tasks import COURSE

TASKS = {name: COURSE[name] for name in ("sst", "sts")}


def build(name: str, **options) -> Weighting:
    return WEIGHTINGS.build(WEIGHTINGS.choose({"name": name, **options}), TASKS, torch.Generator().manual_seed(7))


def values(losses: dict[str, torch.Tensor]) -> dict[str, float]:
    return {task: loss.item() for task, loss in losses.items()}


def weighted(weighting: Weighting, **losses: float) -> dict[str, float]:
    tensors = {task: torch.tensor(loss, dtype=torch.float64) for task, loss in losses.items()}
    return values(weighting(tensors))


def test_fixed_weights_are_those_given_and_1():
    assert weighted(build("fixed", weights={"sts": 0.5}), sst=3.0, sts=4.0) == {"sst": 3.0, "sts": 2.0}


def test_random_weights_are_drawn_once_an_update_and_add_up_to_the_number_of_tasks():
    weighting = build("random")
    first = weighted(weighting, sst=1.0, sts=1.0)
    assert sum(first.values()) == pytest.approx(2.0)
    assert weighted(weighting, sst=1.0, sts=1.0) == first
    weighting.after_update({}, dict)
    assert weighted(weighting, sst=1.0, sts=1.0) != first


@pytest.mark.parametrize("name", ["random", "dynamic_average"])
def test_weights_that_are_computed_between_steps_are_where_steps_read_them(name: str):
    assert device_types(build(name).to("meta")) == {"meta"}


@pytest.mark.parametrize("name", ["random", "dynamic_average"])
def test_weights_of_a_checkpoint_are_put_where_steps_read_them(name: str):
    before, after = build(name), build(name)
    for sst in (4.0, 1.0):
        before.after_update({}, dict)
        before.after_epoch({"sst": sst, "sts": 1.0})
    read = after.weights
    after.restore(before.state())
    assert after.weights is read
    assert torch.equal(read, before.weights)


@pytest.mark.parametrize(
    ("name", "counted", "added"),
    [
        ("equal", {"sst": 1.0, "sts": 1.0}, 0.0),
        ("dynamic", {"sst": 1.0, "sts": math.exp(-0.5)}, 0.5),
        ("uncertainty", {"sst": 1.0, "sts": 0.5 * math.exp(-0.5)}, 0.25),  # it halves scores and not classes
    ],
)
def test_what_is_learnt_for_a_task_weights_it_alone_and_is_told(name: str, counted: dict[str, float], added: float):
    weighting = build(name)
    learnt = dict(weighting.named_parameters())
    if learnt:
        learnt["s.sts"].data.fill_(0.5)
    assert weighting.values() == ({"s/sst": 0.0, "s/sts": 0.5} if learnt else {})
    expected = {"sst": 3.0 * counted["sst"], "sts": 3.0 * counted["sts"] + added}
    assert weighted(weighting, sst=3.0, sts=3.0) == pytest.approx(expected)


def test_a_dynamic_average_is_torchjds():
    weighting, theirs = build("dynamic_average", temperature=1.5), DWA(temperature=1.5)
    for sst, sts in ((4.0, 2.0), (2.0, 1.5), (1.0, 1.4), (1.1, 0.1)):
        ours = weighted(weighting, sst=sst, sts=sts)
        assert sum(ours.values()) == pytest.approx(theirs(torch.tensor([sst, sts], dtype=torch.float64)).item())
        weighting.after_epoch({"sst": sst, "sts": sts})
        theirs.step()


def test_a_dynamic_average_of_a_loss_that_was_zero_is_as_of_one_that_has_not_fallen():
    weighting = build("dynamic_average")
    for sst in (0.0, 1.0):
        weighting.after_epoch({"sst": sst, "sts": 1.0})
    assert weighting.values() == {"weight/sst": 1.0, "weight/sts": 1.0}


def test_famo_is_torchjds_times_the_number_of_tasks():
    weighting, theirs = build("famo"), FAMO(2, weight_decay=0.01).double()
    for before, after in (((4.0, 2.0), (2.0, 1.9)), ((1.0, 3.0), (0.5, 2.9)), ((0.7, 0.2), (0.9, 0.1))):
        losses = torch.tensor(before, dtype=torch.float64, requires_grad=True)
        theirs(losses).backward()
        ours = weighted(weighting, sst=before[0], sts=before[1])
        counted = [ours["sst"] / before[0], ours["sts"] / before[1]]
        assert counted == pytest.approx((2 * losses.grad).tolist(), rel=1e-6)
        moved = torch.tensor(after, dtype=torch.float64)
        weighting.after_update(
            dict(zip(TASKS, losses.detach(), strict=True)), lambda now=moved: dict(zip(TASKS, now, strict=True))
        )
        theirs.update(torch.tensor(after, dtype=torch.float64))
