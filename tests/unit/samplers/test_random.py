"""The samplers that draw: exponents of their epochs, probabilities from sizes, and draws from probabilities."""

from collections import Counter

import numpy as np
import pytest

from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.samplers.base import RandomSampler, Workload

DRAWS = 20_000


def sampler(name: str, sizes: dict[str, int], epochs: int = 3, **options: object) -> RandomSampler:
    built = SAMPLERS.build(SAMPLERS.choose({"name": name, **options}), Workload(sizes, epochs, DRAWS))
    assert isinstance(built, RandomSampler)
    return built


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (1, {"qqp": 0.990099, "sst": 0.009901}),  # 100 : 1
        (3, {"qqp": 0.909091, "sst": 0.090909}),  # 10 : 1
        (5, {"qqp": 0.5, "sst": 0.5}),
    ],
)
def test_probabilities(epoch: int, expected: dict[str, float]):
    built = sampler("annealed", {"qqp": 100, "sst": 1}, epochs=5, decrease=1.0)
    assert built.probabilities(epoch) == pytest.approx(expected, abs=1e-6)


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
    drawn, others = (built.groups(3, np.random.default_rng(seed)) for seed in (0, 1))
    assert drawn != others
    counts = Counter(drawn)
    assert counts.keys() == {("qqp",), ("snli_as_qqp",)}
    # 0.1 225^0.2 of 90^0.2 + 0.1 225^0.2, within four standard deviations
    assert counts[("snli_as_qqp",)] / DRAWS == pytest.approx(0.107232, abs=0.009)
