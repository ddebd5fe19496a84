"""Annealed: proportional to size at first, nearly even at the end."""

from collections.abc import Callable

import numpy as np
import pydantic
import pytest

from mtbert.training.samplers.annealed import Annealed, Settings, exponent
from mtbert.training.samplers.base import Plan

PLAN = Plan(sizes={"a": 100, "b": 1}, epochs=3, steps=20_000)
SAMPLER = Annealed(Settings(decrease=0.8), PLAN)


def test_exponents_of_three_epochs():
    assert [exponent(epoch, 3) for epoch in (1, 2, 3)] == pytest.approx([1.0, 0.6, 0.2])


def test_one_epoch_alone_is_proportional():
    assert exponent(1, 1) == 1.0


def test_another_decrease():
    assert [exponent(epoch, 5, decrease=1.0) for epoch in (1, 2, 3, 4, 5)] == [1.0, 0.75, 0.5, 0.25, 0.0]


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (1, {"a": 0.990099, "b": 0.009901}),
        (2, {"a": 0.940649, "b": 0.059351}),
        (3, {"a": 0.715253, "b": 0.284747}),
    ],
)
def test_shares_of_each_epoch(epoch: int, expected: dict[str, float], shares: Callable):
    groups = SAMPLER.groups(epoch, np.random.default_rng(0))
    deviation = (expected["a"] * expected["b"] / PLAN.steps) ** 0.5
    assert shares(groups) == pytest.approx(expected, abs=4 * deviation)


def test_the_decrease_is_the_settings(shares: Callable):
    even = Annealed(Settings(decrease=1.0), PLAN)
    assert shares(even.groups(3, np.random.default_rng(0))) == pytest.approx({"a": 0.5, "b": 0.5}, abs=0.015)


def test_the_same_generator_gives_the_same_groups():
    assert SAMPLER.groups(2, np.random.default_rng(7)) == SAMPLER.groups(2, np.random.default_rng(7))


def test_another_generator_gives_others():
    assert SAMPLER.groups(2, np.random.default_rng(7)) != SAMPLER.groups(2, np.random.default_rng(8))


@pytest.mark.parametrize("decrease", [-0.1, 1.1])
def test_a_decrease_below_0_or_above_1_is_refused(decrease: float):
    with pytest.raises(pydantic.ValidationError, match="decrease"):
        Settings(decrease=decrease)
