"""SquareRoot: a task's chance goes by the root of its size."""

from collections.abc import Callable

import numpy as np
import pytest

from mtbert.training.samplers.base import Plan
from mtbert.training.samplers.square_root import Settings, SquareRoot

SAMPLER = SquareRoot(Settings(), Plan(sizes={"a": 100, "b": 1}, epochs=3, steps=20_000))


@pytest.mark.parametrize("epoch", [1, 3])
def test_a_set_a_hundred_times_larger(epoch: int, shares: Callable):
    groups = SAMPLER.groups(epoch, np.random.default_rng(0))
    assert shares(groups) == pytest.approx({"a": 0.909091, "b": 0.090909}, abs=0.0085)  # four standard deviations


def test_the_same_generator_gives_the_same_groups():
    assert SAMPLER.groups(1, np.random.default_rng(7)) == SAMPLER.groups(1, np.random.default_rng(7))


def test_another_generator_gives_others():
    assert SAMPLER.groups(1, np.random.default_rng(7)) != SAMPLER.groups(1, np.random.default_rng(8))
