"""The samplers that draw: probabilities from sizes, and draws from probabilities."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from mtbert.errors import SettingsError
from mtbert.training.samplers import SAMPLERS
from mtbert.training.samplers.base import Group, Plan, RandomSampler, draw, task_probabilities

DRAWS = 20_000


def shares(groups: Iterable[Group]) -> dict[str, float]:
    """How often each task came, of groups that hold one task each."""
    counts = Counter(task for (task,) in groups)
    return {task: number / counts.total() for task, number in sorted(counts.items())}


def sampler(name: str, sizes: dict[str, int], epochs: int = 3, **options: object) -> RandomSampler:
    built = SAMPLERS.build({"name": name, **options}, Plan(sizes, epochs, DRAWS))
    assert isinstance(built, RandomSampler)
    return built


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


@pytest.mark.parametrize(
    ("name", "exponents"),
    [("proportional", [1.0, 1.0, 1.0]), ("square_root", [0.5, 0.5, 0.5]), ("annealed", [1.0, 0.6, 0.2])],
)
def test_exponents_of_three_epochs(name: str, exponents: list[float]):
    built = sampler(name, {"sst": 1})
    assert [built.exponent(epoch) for epoch in (1, 2, 3)] == pytest.approx(exponents)


def test_annealing_by_another_decrease():
    built = sampler("annealed", {"sst": 1}, epochs=5, decrease=1.0)
    assert [built.exponent(epoch) for epoch in (1, 2, 3, 4, 5)] == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_draws_follow_the_probabilities_and_the_generator():
    wanted = {"a": 0.2, "b": 0.3, "c": 0.5}
    one, other = (draw(wanted, DRAWS, np.random.default_rng(seed)) for seed in (0, 1))
    assert shares(one) == pytest.approx(wanted, abs=0.015)  # four standard deviations
    assert one != other


@pytest.mark.parametrize(
    ("name", "epoch", "expected"),
    [
        ("proportional", 3, 0.2),  # 22.5 of 112.5
        ("square_root", 3, 1.5 / (90**0.5 + 1.5)),  # a tenth of the root of 225
        ("annealed", 1, 0.2),
        ("annealed", 3, 0.107232),  # 0.1 225^0.2 of 90^0.2 + 0.1 225^0.2
    ],
)
def test_a_sampler_draws_by_exponent_and_divisor(name: str, epoch: int, expected: float):
    built = sampler(name, {"qqp": 90, "snli_as_qqp": 225}, divide={"snli_as_qqp": 10.0})
    found = shares(built.groups(epoch, np.random.default_rng(0)))
    assert found["snli_as_qqp"] == pytest.approx(expected, abs=0.012)  # four standard deviations


@pytest.mark.parametrize("name", ["proportional", "square_root", "annealed"])
def test_dividing_by_a_name_that_is_no_task_is_refused(name: str):
    with pytest.raises(SettingsError, match="unknown task 'snlli'"):
        sampler(name, {"sst": 8}, divide={"snlli": 10.0})
