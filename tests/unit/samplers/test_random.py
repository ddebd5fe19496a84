"""The samplers that draw: exponents of their epochs, probabilities from sizes, and draws from probabilities."""

from collections import Counter

import numpy as np
import pytest

from mtbert.errors import SettingsError
from mtbert.training.samplers import SAMPLERS
from mtbert.training.samplers.base import Plan, RandomSampler, draw, task_probabilities

DRAWS = 20_000


def sampler(name: str, sizes: dict[str, int], epochs: int = 3, **options: object) -> RandomSampler:
    built = SAMPLERS.build({"name": name, **options}, Plan(sizes, epochs, DRAWS))
    assert isinstance(built, RandomSampler)
    return built


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (1.0, {"a": 0.990099, "b": 0.009901}),  # 100 : 1
        (0.6, {"a": 0.940649, "b": 0.059351}),  # 15.849 : 1
        (0.0, {"a": 0.5, "b": 0.5}),
    ],
)
def test_probabilities(exponent: float, expected: dict[str, float]):
    assert task_probabilities({"a": 100, "b": 1}, exponent) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "exponents"),
    [
        ("proportional", {}, [1.0, 1.0, 1.0]),
        ("square_root", {}, [0.5, 0.5, 0.5]),
        ("annealed", {}, [1.0, 0.6, 0.2]),
        ("annealed", {"decrease": 1.0}, [1.0, 0.75, 0.5, 0.25, 0.0]),
    ],
)
def test_exponents_of_the_epochs(name: str, options: dict[str, float], exponents: list[float]):
    built = sampler(name, {"sst": 1}, epochs=len(exponents), **options)
    assert [built.exponent(epoch) for epoch, _ in enumerate(exponents, start=1)] == pytest.approx(exponents)


def test_a_sampler_draws_by_the_epochs_exponent_and_by_divisors():
    built = sampler("annealed", {"qqp": 90, "snli_as_qqp": 225}, divide={"snli_as_qqp": 10.0})
    counts = Counter(built.groups(3, np.random.default_rng(0)))
    assert counts.keys() == {("qqp",), ("snli_as_qqp",)}
    # 0.1 225^0.2 of 90^0.2 + 0.1 225^0.2, within four standard deviations
    assert counts[("snli_as_qqp",)] / DRAWS == pytest.approx(0.107232, abs=0.009)
    with pytest.raises(SettingsError, match="unknown task 'snlli'"):
        sampler("annealed", {"sst": 8}, divide={"snlli": 10.0})


def test_draws_follow_the_generator():
    one, other = (draw({"a": 0.5, "b": 0.5}, DRAWS, np.random.default_rng(seed)) for seed in (0, 1))
    assert one != other
