"""Two sides that were scored on the same rows, of one training each or of several with the same seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtbert.statistics import bootstrap, seeds
from mtbert.statistics.seeds import Difference


@dataclass(frozen=True)
class Paired:
    """The mean difference over seeds, with all that can be told of it.

    Attributes:
        difference: one side less the other; low and high: its 95 % interval.
        p: two-sided, of no difference. Of several seeds it is that of the hierarchical bootstrap; of one seed the
            cluster bootstrap's, which says how sure the examples make us of these two models, not of training them.
        detectable: the smallest true difference that would have been found so in four of five repetitions.
        tests: p of every single test by its name.
        seed_sd: standard deviation of single seeds' differences; of one seed None.
        example_sd: that of the mean difference by the choice of examples.
        several: gives the p of any bound; None for one seed.
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
    """What can be told of differences by seed.

    Args:
        differences: seeds.
        draws: the same on resampled examples, draws x seeds.
        names: of the seeds, as in the names of the tests.
        generator: for what seeds could have been.
    """
    tests = {f"bootstrap, seed {name}": float(bootstrap.p_value(draws[:, at])) for at, name in enumerate(names)}
    found, seed_sd = None, None
    if len(names) > 1:
        found = seeds.hierarchical(differences, draws, generator)
        low, high, p, example_sd = found.low, found.high, float(found.p), float(np.sqrt(found.of_examples))
        seed_sd = float(np.sqrt(found.of_seeds * len(names)))
        error = float(np.sqrt(found.of_seeds + found.of_examples))
        tests = {"hierarchical bootstrap": p, "sign flip": float(seeds.sign_flip(differences)), **tests}
    else:
        low, high = bootstrap.interval(draws[:, 0])
        p, error = next(iter(tests.values())), float(draws[:, 0].std())
        example_sd = error
    detectable = seeds.detectable(float(high - low) / 2, error)
    mean = float(differences.mean())
    return Paired(mean, float(low), float(high), p, detectable, tests, seed_sd, example_sd, found)
