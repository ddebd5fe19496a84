"""Compare two sides that were scored on the same rows: one training each, or several with the same seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtbert.statistics import bootstrap, seeds
from mtbert.statistics.seeds import Difference


@dataclass(frozen=True)
class Paired:
    """The mean difference over seeds, with its interval and tests.

    Attributes:
        difference: one side less the other; low and high: its 95 % interval.
        p: two-sided, of no difference. For several seeds by the hierarchical bootstrap; for one seed by the cluster
            bootstrap, which judges these two models, not other trainings of them.
        detectable: the smallest true difference that is found in four of five repetitions.
        tests: p of every single test, by its name.
        seed_sd: standard deviation of single seeds' differences, no less than other examples give them; None for one.
        example_sd: standard deviation of the mean difference over the choice of examples.
        several: computes the p of any bound; None for one seed.
    """

    difference: float
    low: float
    high: float
    p: float
    detectable: float
    tests: dict[str, float]
    seed_sd: float | None
    example_sd: float
    several: Difference | None


def paired(
    differences: np.ndarray, draws: np.ndarray, names: Sequence[object], generator: np.random.Generator
) -> Paired:
    """Compute interval and tests of differences by seed.

    Args:
        differences: [seeds].
        draws: the same on resampled examples, [draws, seeds].
        names: names of the seeds, for the names of the tests.
        generator: draws other seeds.
    """
    tests = {f"bootstrap, seed {name}": float(bootstrap.p_value(draws[:, column])) for column, name in enumerate(names)}
    several, seed_sd = None, None
    if len(names) > 1:
        several = seeds.hierarchical(differences, draws, generator)
        low, high, p, example_sd = several.low, several.high, float(several.p), float(np.sqrt(several.of_examples))
        seed_sd = float(np.sqrt(several.planned * len(names)))
        error = float(np.sqrt(several.planned + several.of_examples))
        tests = {"hierarchical bootstrap": p, "sign flip": float(seeds.sign_flip(differences)), **tests}
    else:
        low, high = bootstrap.interval(draws[:, 0])
        p, error = next(iter(tests.values())), float(draws[:, 0].std())
        example_sd = error
    detectable = seeds.detectable(float(high - low) / 2, error)
    mean = float(differences.mean())
    return Paired(mean, float(low), float(high), p, detectable, tests, seed_sd, example_sd, several)
