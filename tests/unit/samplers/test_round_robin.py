"""Round-robin: the tasks take turns."""

import numpy as np

from mtbert.settings import NoOptions
from mtbert.training.samplers.base import Plan
from mtbert.training.samplers.round_robin import RoundRobin

SAMPLER = RoundRobin(NoOptions(), Plan(sizes={"sst": 8, "qqp": 100, "sts": 6}, epochs=3, steps=4))


def test_the_turn_carries_on_from_epoch_to_epoch():
    generator = np.random.default_rng(0)
    assert [SAMPLER.groups(epoch, generator) for epoch in (1, 2, 3)] == [
        [("sst",), ("qqp",), ("sts",), ("sst",)],
        [("qqp",), ("sts",), ("sst",), ("qqp",)],
        [("sts",), ("sst",), ("qqp",), ("sts",)],
    ]


def test_an_epoch_does_not_depend_on_those_before():
    assert SAMPLER.groups(2, np.random.default_rng(0)) == [("qqp",), ("sts",), ("sst",), ("qqp",)]


def test_nothing_is_drawn():
    generator = np.random.default_rng(5)
    SAMPLER.groups(1, generator)
    assert generator.random() == np.random.default_rng(5).random()


def test_one_task_alone():
    alone = RoundRobin(NoOptions(), Plan(sizes={"sst": 8}, epochs=1, steps=3))
    assert alone.groups(1, np.random.default_rng(0)) == [("sst",), ("sst",), ("sst",)]
