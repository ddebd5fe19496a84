"""Probabilities from sizes, and drawing from probabilities."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from mtbert.training.samplers.base import draw, task_probabilities


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (1.0, {"a": 0.990099, "b": 0.009901}),  # 100 : 1
        (0.6, {"a": 0.940649, "b": 0.059351}),  # 15.849 : 1
        (0.5, {"a": 0.909091, "b": 0.090909}),  # 10 : 1
        (0.2, {"a": 0.715253, "b": 0.284747}),  # 2.512 : 1
        (0.0, {"a": 0.5, "b": 0.5}),
    ],
)
def test_probabilities(exponent: float, expected: dict[str, float]):
    assert task_probabilities({"a": 100, "b": 1}, exponent) == pytest.approx(expected, abs=1e-6)


def test_three_tasks():
    assert task_probabilities({"a": 9, "b": 4, "c": 1}, 0.5) == pytest.approx({"a": 3 / 6, "b": 2 / 6, "c": 1 / 6})


def test_a_certain_task_is_always_drawn():
    assert draw({"a": 0.0, "b": 1.0}, 3, np.random.default_rng(0)) == [("b",), ("b",), ("b",)]


def test_draws_follow_the_probabilities(shares: Callable):
    drawn = draw({"a": 0.2, "b": 0.3, "c": 0.5}, 20_000, np.random.default_rng(0))
    assert shares(drawn) == pytest.approx({"a": 0.2, "b": 0.3, "c": 0.5}, abs=0.015)  # four standard deviations


def test_draws_are_independent_of_each_other(shares: Callable):
    drawn = draw({"a": 0.5, "b": 0.5}, 20_000, np.random.default_rng(0))
    after_a = [later for earlier, later in pairwise(drawn) if earlier == ("a",)]
    assert shares(after_a) == pytest.approx({"a": 0.5, "b": 0.5}, abs=0.02)
