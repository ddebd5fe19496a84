"""Slanted triangular and constant factors on the learning rate."""

import pytest

from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.schedules.slanted_triangular import Settings, SlantedTriangular


def test_constant():
    assert [SCHEDULES.build(SCHEDULES.choose({"name": "constant"})).factor(step, 3) for step in range(4)] == [
        1.0,
        1.0,
        1.0,
        1.0,
    ]


@pytest.mark.parametrize(
    ("warmup", "factors"),
    [
        (0.2, [0, 0.5, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0]),
        (0.5, [0, 1 / 2.5, 2 / 2.5, 2 / 2.5, 1 / 2.5, 0]),  # the peak lies between two steps
        (0.0, [1.0, 0.75, 0.5, 0.25, 0.0]),
    ],
)
def test_it_rises_then_falls_to_nothing_after_the_last_step(warmup: float, factors: list[float]):
    schedule, steps = SlantedTriangular(Settings(warmup=warmup)), len(factors) - 1
    assert [schedule.factor(step, steps) for step in range(steps + 1)] == pytest.approx(factors)
