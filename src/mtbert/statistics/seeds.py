"""Two variants trained with the same seeds: what of their difference is training noise, what the choice of examples.

With d_s the difference of seed s on the same examples, its mean over n seeds varies for two reasons:

    Var(mean) = v + c,  v = variance over seeds / n,  c = covariance of d_s and d_t (s != t) over resampled examples

c is what other examples would change alike for every seed; what they change for single seeds is part of v already.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from mtbert.statistics import bootstrap
from mtbert.statistics.intervals import LEVEL

POWER = 0.8


@dataclass(frozen=True)
class Difference:
    """Mean difference over seeds, its 95 % interval, two-sided p, and v and c as above. Arrays in a batch.

    Attributes:
        seeds: how many.
        examples: what other examples would change in the mean, draws x ...; their variance is c.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    of_seeds: np.ndarray
    of_examples: np.ndarray
    seeds: int
    examples: np.ndarray

    def at_most(self, bound: float) -> np.ndarray:
        """One-sided p of the true difference being `bound` or less; small where it is more."""
        return share_below(bound - self.mean, self.of_seeds, self.seeds, self.examples)

    def at_least(self, bound: float) -> np.ndarray:
        """One-sided p of the true difference being `bound` or more; small where it is less."""
        return share_below(self.mean - bound, self.of_seeds, self.seeds, -self.examples)


def share_below(
    distance: np.ndarray, of_seeds: np.ndarray, seeds: int, examples: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """The chance that sqrt(v) T + E is at most `distance`, with T and E as in `hierarchical`.

    T is not drawn but reckoned, since the levels of early looks lie where 10,000 draws end. Where v is 0, which a few
    seeds on a coarse score can come to by chance, one draw more is counted beyond, so that p is never 0.

    Args:
        distance: from the mean, of any shape.
        of_seeds: v, of the same shape.
        seeds: n.
        examples: draws of E, one more axis in front.
        weights: of the draws; None for all alike.
    """
    away = distance - examples
    constant = of_seeds == 0
    smooth = special.stdtr(seeds - 1, away / np.sqrt(np.where(constant, 1, of_seeds)))
    steps = (away > 0) + (away == 0) / 2
    share = np.average(np.where(constant, steps, smooth), axis=0, weights=weights)
    return np.where(constant, (share * len(examples) + 1) / (len(examples) + 1), share)


def hierarchical(differences: np.ndarray, draws: np.ndarray, generator: np.random.Generator) -> Difference:
    """Hierarchical bootstrap of the mean difference: other seeds, then other examples; right for two seeds and more.

    Drawing n seeds with replacement, then examples, goes wrong thrice for few seeds: the variance over seeds comes out
    (n - 1) / n times too small, its tails are those of the few values that are there, and what examples change for
    single seeds is counted twice (Owen 2007, The pigeonhole bootstrap). So a draw here is

        mean + sqrt(v) T + sqrt(c / Var(E)) E

    with T from Student's t with n - 1 degrees of freedom, what the mean of other normal seeds can be, and E the mean
    over seeds of one bootstrap draw of the examples, less its expectation, shrunk to the part that all seeds share.
    The sum is Behrens and Fisher's (Box and Tiao 1973, section 2.5): Student's test where examples do not matter, the
    cluster bootstrap where seeds do not. In between it is cautious, never bold: of normal data with no difference it
    rejects in 1.3 to 5 % with 2 seeds and in 3.7 to 5 % with 6, by the share of c in v + c. Satterthwaite's degrees of
    freedom would reject in up to 13 % with 2 seeds. Runs of one recipe, where c is 0, are in tests/unit/statistics.

    Args:
        differences: d_s, ... x seeds; at least two seeds.
        draws: the same on resampled examples, draws x ... x seeds.
        generator: for T.
    """
    n = differences.shape[-1]
    mean, of_seeds = differences.mean(axis=-1), differences.var(axis=-1, ddof=1) / n
    centred = draws - draws.mean(axis=0)
    every = centred.mean(axis=-1)
    of_mean, own = (every**2).mean(axis=0), (centred**2).mean(axis=0).sum(axis=-1) / n**2
    shared = np.maximum(of_mean - own, 0) * n / (n - 1)
    shrink = np.sqrt(shared / np.where(of_mean == 0, 1, of_mean))
    ranks = (generator.permutation(len(draws)) + 0.5) / len(draws)  # each once, for tails without luck
    student = special.stdtrit(n - 1, ranks).reshape(-1, *[1] * mean.ndim)
    drawn = mean + np.sqrt(of_seeds) * student + shrink * every
    low, high = bootstrap.interval(drawn)
    return Difference(mean, low, high, bootstrap.p_value(drawn), of_seeds, shared, n, shrink * every)


def detectable(half: float, error: float, level: float = LEVEL / 2) -> float:
    """The smallest true difference that a one-sided test at `level` finds in four of five repetitions.

    Args:
        half: the difference from which on the test rejects; at 2.5 % half the width of the 95 % interval.
        error: standard error of the difference. half / error is taken for a quantile of Student's t, whose degrees of
            freedom say how well the error is known; the power then is that of the noncentral t.
        level: of the test, after correction.
    """
    if error == 0:
        return 0.0
    ratio = max(half / error, -float(special.ndtri(level)) + 1e-3)
    ratio = min(ratio, _t_isf(level, 1))
    freedom: Any = optimize.brentq(lambda df: _t_isf(level, df) - ratio, 1 - 1e-6, 1e5)
    most = 1.5 * ratio + 2  # where the power is 0.86 or more, of any degrees of freedom; far beyond, nctdtr is NaN
    shift: Any = optimize.brentq(lambda by: 1 - special.nctdtr(freedom, by, ratio) - POWER, 0, most)
    return shift * error


def _t_isf(level: float, freedom: float) -> float:
    """The value that Student's t is above in that share of cases."""
    return -float(special.stdtrit(freedom, level))


def promised(seed_sd: float, example_sd: float, seeds: int, level: float) -> float:
    """What is detectable with so many seeds, of spreads that are as given.

    Args:
        seed_sd: standard deviation of single seeds' differences.
        example_sd: that of their mean by the choice of examples, which more seeds do not lessen.
    """
    error = math.hypot(seed_sd / math.sqrt(seeds), example_sd)
    return detectable(critical(seed_sd, example_sd, seeds, level), error, level) if error else 0.0


def critical(seed_sd: float, example_sd: float, seeds: int, level: float) -> float:
    """The difference from which on a one-sided test at `level` rejects, where the spreads are found as they are."""
    nodes, weights = normal_draws(example_sd)
    of_seeds = np.asarray(seed_sd**2 / seeds)
    if seed_sd == 0:
        return -float(special.ndtri(level)) * example_sd
    most = math.hypot(_t_isf(level / 2, seeds - 1) * seed_sd, float(special.ndtri(level / 2)) * example_sd)
    found: Any = optimize.brentq(
        lambda by: float(share_below(np.asarray(-by), of_seeds, seeds, nodes, weights)) - level, 0, 2 * most
    )
    return found


def normal_draws(sd: np.ndarray | float, points: int = 241) -> tuple[np.ndarray, np.ndarray]:
    """A normal distribution as weighted draws at equal distances, points x ..., and the weights, for integrals."""
    nodes = np.linspace(-6, 6, points)
    weights = np.exp(-(nodes**2) / 2)
    return nodes.reshape(-1, *[1] * np.ndim(sd)) * sd, weights / weights.sum()


def needed(seed_sd: float, example_sd: float, difference: float, level: float, most: int = 1_000) -> int | None:
    """The fewest seeds, three or more, with which `difference` is detectable; None where `most` are too few."""
    if promised(seed_sd, example_sd, most, level) > difference:
        return None
    few, many = 2, most
    while many - few > 1:
        middle = (few + many) // 2
        enough = promised(seed_sd, example_sd, middle, level) <= difference
        few, many = (few, middle) if enough else (middle, many)
    return many


def sign_flip(differences: np.ndarray) -> np.ndarray:
    """Two-sided p of the exact sign-flip test over matched seeds, of ... x seeds.

    Under no difference each seed's difference could as well have had the other sign. It asks for other seeds on the
    same examples, and assumes nothing of their distribution. Its p is at least `sign_flip_floor(seeds)`.
    """
    from scipy import stats  # takes half a second, and single seeds have no such test

    found = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", vectorized=True, axis=-1, n_resamples=100_000
    )
    return np.asarray(found.pvalue)


def sign_flip_floor(seeds: int) -> float:
    """The smallest p that it can give, 2^(1 - seeds): with five seeds or fewer it never rejects at 5 %.

    Its level is exact: of the 2^seeds signs, as many as p < 5 % allows; with six seeds 3.1 %.
    """
    return math.ldexp(1, 1 - seeds)
