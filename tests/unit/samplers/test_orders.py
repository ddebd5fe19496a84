"""The samplers that draw nothing, on literal sequences; and what all do with a length that is not set."""

import numpy as np
import pytest

from mtbert.errors import SettingsError
from mtbert.training.samplers import SAMPLERS
from mtbert.training.samplers.base import Plan, Sampler

SIZES = {"sst": 8, "qqp": 12, "sts": 4}
BATCHES = {"sst": 2, "qqp": 3, "sts": 1}


def sampler(name: str, steps: int | None) -> Sampler:
    return SAMPLERS.build({"name": name}, Plan(SIZES, 2, steps, BATCHES))


def order(name: str, steps: int | None, epoch: int = 1) -> list[str]:
    return ["+".join(group) for group in sampler(name, steps).groups(epoch, np.random.default_rng(0))]


@pytest.mark.parametrize("epoch", [1, 2])
def test_sequential_runs_through_one_task_after_the_other(epoch: int):
    assert order("sequential", None, epoch) == ["sst", "sst", "qqp", "qqp", "qqp", "sts"]


def test_sequential_shares_steps_that_are_set_in_proportion():
    assert order("sequential", 12) == ["sst"] * 4 + ["qqp"] * 6 + ["sts"] * 2
    assert order("sequential", 4) == ["sst", "qqp", "qqp", "sts"]


def test_sequential_leaves_no_task_without_a_step():
    plan = Plan({"sst": 8, "qqp": 1200, "sts": 4}, 1, 10, {"sst": 2, "qqp": 300, "sts": 1})
    groups = SAMPLERS.build({"name": "sequential"}, plan).groups(1, np.random.default_rng(0))
    assert [task for (task,) in groups] == ["sst", *["qqp"] * 8, "sts"]


def test_the_turn_of_round_robin_carries_on_from_epoch_to_epoch():
    assert [order("round_robin", 4, epoch) for epoch in (1, 2, 3)] == [
        ["sst", "qqp", "sts", "sst"],
        ["qqp", "sts", "sst", "qqp"],
        ["sts", "sst", "qqp", "sts"],
    ]


@pytest.mark.parametrize("epoch", [1, 2])
def test_round_robin_ends_with_the_smallest_set(epoch: int):
    assert order("round_robin_shortest", None, epoch) == ["sst", "qqp", "sts"]


def test_round_robin_until_a_set_that_is_named():
    plan = Plan(SIZES, 2, None, BATCHES)
    named = SAMPLERS.build({"name": "round_robin_shortest", "until": "sst"}, plan)
    assert named.groups(1, np.random.default_rng(0)) == [("sst",), ("qqp",), ("sts",)] * 2
    with pytest.raises(SettingsError, match=r"until is cfimdb, which the phase does not train; allowed: smallest, sst"):
        SAMPLERS.build({"name": "round_robin_shortest", "until": "cfimdb"}, plan)


def turned(name: str, *tasks: str) -> Sampler:
    plan = Plan(dict.fromkeys(tasks, 800), 2, None, dict.fromkeys(tasks, 100), turns=5)
    return SAMPLERS.build({"name": name}, plan)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_length_in_turns_of_each_task(name: str):
    """Five batches of each of three tasks: 15 steps, or 5 that hold all; and 5 where a task is alone."""
    three, one = turned(name, "sst", "qqp", "sts"), turned(name, "sst")
    assert three.steps == len(three.groups(1, np.random.default_rng(0))) == (5 if name == "interleaved" else 15)
    assert one.steps == len(one.groups(1, np.random.default_rng(0))) == 5


def test_a_corpus_that_is_reused_for_a_task_adds_no_turns():
    assert turned("annealed", "sst", "qqp", "cfimdb_as_sst", "snli_as_qqp").steps == 10


def test_interleaved_steps_hold_every_task():
    assert order("interleaved", None) == ["sst+qqp+sts", "sst+qqp+sts"]
    assert order("interleaved", 3) == ["sst+qqp+sts"] * 3


@pytest.mark.parametrize(
    ("name", "steps"),
    [("sequential", 6), ("round_robin", 6), ("proportional", 6), ("square_root", 6), ("annealed", 6),
     ("round_robin_shortest", 3), ("interleaved", 2)],
)  # fmt: skip
def test_steps_of_an_epoch_whose_length_is_not_set(name: str, steps: int):
    assert sampler(name, None).steps == steps
    assert len(order(name, None)) == steps
