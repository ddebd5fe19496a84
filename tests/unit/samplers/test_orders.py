"""The samplers that draw nothing, on literal sequences; and what all do with a length in turns."""

import numpy as np
import pytest

from mtbert.errors import SettingsError
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.samplers.base import Sampler, Workload

SIZES = {"sst": 8, "qqp": 16, "sts": 4}
BATCHES = {"sst": 2, "qqp": 4, "sts": 1}


def order(sampler: Sampler, epoch: int = 1) -> str:
    return " ".join("+".join(group) for group in sampler.groups(epoch, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("name", "steps", "epoch", "expected"),
    [
        ("sequential", None, 2, "sst sst qqp qqp qqp qqp sts"),
        ("sequential", 12, 1, "sst sst sst sst qqp qqp qqp qqp qqp qqp sts sts"),  # in proportion
        ("sequential", 4, 1, "sst qqp qqp sts"),
        ("round_robin", 4, 1, "sst qqp sts sst"),  # the turn carries on from epoch to epoch
        ("round_robin", 4, 2, "qqp sts sst qqp"),
        ("round_robin", 4, 3, "sts sst qqp sts"),
        ("round_robin_shortest", None, 2, "sst qqp sts"),
        ("interleaved", None, 1, "sst+qqp+sts sst+qqp+sts sst+qqp+sts"),
        ("interleaved", 2, 1, "sst+qqp+sts sst+qqp+sts"),
    ],
)
def test_the_order_of_an_epoch(name: str, steps: int | None, epoch: int, expected: str):
    sampler = SAMPLERS.build(SAMPLERS.choose({"name": name}), Workload(SIZES, 3, steps, BATCHES))
    assert order(sampler, epoch) == expected
    assert sampler.steps == len(expected.split())


def test_sequential_leaves_no_task_without_a_step():
    workload = Workload({"sst": 8, "qqp": 1200, "sts": 4}, 1, 10, {"sst": 2, "qqp": 300, "sts": 1})
    assert order(SAMPLERS.build(SAMPLERS.choose({"name": "sequential"}), workload)) == "sst" + 8 * " qqp" + " sts"


def test_sequential_in_an_order_of_its_own_with_a_set_that_is_cut():
    """As My PAL BERT's code runs its tasks: Quora first, and no more than so many batches of it."""
    chosen = SAMPLERS.choose({"name": "sequential", "order": ["qqp", "sst", "sts"], "most": {"qqp": 3, "sst": 9}})
    sampler = SAMPLERS.build(chosen, Workload(SIZES, 3, None, BATCHES))
    assert order(sampler) == "qqp qqp qqp sst sst sts"
    assert sampler.steps == 6
    within = SAMPLERS.build(chosen, Workload(SIZES, 3, 9, BATCHES))  # one each, six in proportion to 3, 2 and 1
    assert order(within) == "qqp qqp qqp qqp sst sst sst sts sts"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"order": ["qqp", "sst"]},
            "sequential.order is qqp, sst; allowed: the tasks of the phase, each once: sst, qqp",
        ),
        (
            {"most": {"cfimdb": 2}},
            "sequential.most names cfimdb, which the phase does not train; allowed: sst, qqp, sts",
        ),
    ],
)
def test_sequential_refuses_what_has_no_effect(options: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        SAMPLERS.build(SAMPLERS.choose({"name": "sequential"} | options), Workload(SIZES, 3, None, BATCHES))


def test_round_robin_until_a_set_that_is_named():
    workload = Workload(SIZES, 2, None, BATCHES)
    named = SAMPLERS.build(SAMPLERS.choose({"name": "round_robin_shortest", "until": "sst"}), workload)
    assert order(named) == "sst qqp sts sst qqp sts"
    with pytest.raises(SettingsError, match=r"until is cfimdb, which the phase does not train; allowed: smallest, sst"):
        SAMPLERS.build(SAMPLERS.choose({"name": "round_robin_shortest", "until": "cfimdb"}), workload)


def turned(name: str, *tasks: str) -> Sampler:
    workload = Workload(dict.fromkeys(tasks, 800), 2, None, dict.fromkeys(tasks, 100), dict.fromkeys(tasks, 5))
    return SAMPLERS.build(SAMPLERS.choose({"name": name}), workload)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_length_in_turns_of_each_task(name: str):
    """Five batches of each of three tasks: 15 steps, or 5 that hold all; and 5 where a task is alone."""
    three, one = turned(name, "sst", "qqp", "sts"), turned(name, "sst")
    assert three.steps == len(three.groups(1, np.random.default_rng(0))) == (5 if name == "interleaved" else 15)
    assert one.steps == 5


def test_tasks_whose_batches_differ_have_turns_of_their_own():
    workload = Workload(SIZES, 2, None, BATCHES, {"sst": 1, "qqp": 4, "sts": 2})
    names = ("round_robin", "round_robin_shortest", "interleaved")
    steps = {name: SAMPLERS.build(SAMPLERS.choose({"name": name}), workload).steps for name in names}
    assert steps == {"round_robin": 7, "round_robin_shortest": 3, "interleaved": 4}


def test_round_robin_spreads_unequal_turns_evenly_over_an_epoch():
    workload = Workload(SIZES, 1, None, BATCHES, turns={"sst": 1, "qqp": 4, "sts": 2})
    sampler = SAMPLERS.build(SAMPLERS.choose({"name": "round_robin"}), workload)
    assert order(sampler) == "qqp sts qqp sst qqp sts qqp"
    assert sampler.steps == 7
