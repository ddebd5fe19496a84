"""Proportional: a task's chance goes by its share of the examples."""

from collections.abc import Callable

import numpy as np
import pytest

from mtbert.training.samplers.base import Plan
from mtbert.training.samplers.proportional import Proportional, Settings

SAMPLER = Proportional(Settings(), Plan(sizes={"a": 100, "b": 1}, epochs=3, steps=20_000))


@pytest.mark.parametrize("epoch", [1, 3])
def test_a_set_a_hundred_times_larger(epoch: int, shares: Callable):
    groups = SAMPLER.groups(epoch, np.random.default_rng(0))
    assert shares(groups) == pytest.approx({"a": 0.990099, "b": 0.009901}, abs=0.003)  # four standard deviations


def test_the_same_generator_gives_the_same_groups():
    assert SAMPLER.groups(1, np.random.default_rng(7)) == SAMPLER.groups(1, np.random.default_rng(7))


def test_another_generator_gives_others():
    assert SAMPLER.groups(1, np.random.default_rng(7)) != SAMPLER.groups(1, np.random.default_rng(8))
