"""Compare two variants trained with the same seeds: how much of their difference is noise of training and of examples.

With d_s the difference of seed s on the same examples, its mean over n seeds varies for two reasons:

    Var(mean) = v + c,  v = variance over seeds / n,  c = covariance of d_s and d_t (s != t) over resampled examples

c is what other examples change alike for every seed; what they change for single seeds is part of v already.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from mtbert.statistics import bootstrap
from mtbert.statistics.intervals import LEVEL

POWER = 0.8
ROUNDING = 1e-9  # a share of a variance that is an error of its last digits
Found = Callable[[float, float, int, float], float]  # as `promised`


@dataclass(frozen=True)
class Difference:
    """Mean difference over seeds, its 95 % interval, two-sided p, and v and c as above. Arrays in a batch.

    Attributes:
        least: what v is at least: by what other examples change single seeds, divided by n.
        seeds: number of seeds.
        examples: changes of the mean by other examples, [draws, ...]; their variance is c.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    of_seeds: np.ndarray
    of_examples: np.ndarray
    least: np.ndarray
    seeds: int
    examples: np.ndarray

    @property
    def planned(self) -> np.ndarray:
        """v for plans of further seeds, which may not agree by luck as these few may."""
        return np.maximum(self.of_seeds, self.least)

    def at_most(self, bound: float) -> np.ndarray:
        """Return the one-sided p of the true difference being `bound` or less; small where it is more."""
        return self._share_below(bound - self.mean, self.examples)

    def at_least(self, bound: float) -> np.ndarray:
        """Return the one-sided p of the true difference being `bound` or more; small where it is less."""
        return self._share_below(self.mean - bound, -self.examples)

    def _share_below(self, distance: np.ndarray, examples: np.ndarray) -> np.ndarray:
        by_seeds = share_below(distance, self.of_seeds, self.seeds, examples)
        as_known = share_below(distance, self.least, math.inf, examples)
        small = (by_seeds < 0.5) & (self.least > 0)  # the wider spread makes a p beyond a half smaller
        return np.where(small, np.maximum(by_seeds, as_known), by_seeds)


def share_below(
    distance: np.ndarray, of_seeds: np.ndarray, seeds: float, examples: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the probability that sqrt(v) T + E is at most `distance`, with T and E as in `hierarchical`.

    T is not drawn but integrated, since the levels of early looks need more than 10,000 draws. Where v is 0, which can
    happen by chance for a few seeds and a coarse score, one more draw is counted beyond, so that p is never 0.

    Args:
        distance: from the mean, of any shape.
        of_seeds: v, of the same shape.
        seeds: n; infinite where v is known and not estimated.
        examples: draws of E, with a further axis in front.
        weights: weights of the draws; None for equal ones.
    """
    away = distance - examples
    constant = of_seeds == 0
    smooth = special.stdtr(seeds - 1, away / np.sqrt(np.where(constant, 1, of_seeds)))
    steps = (away > 0) + (away == 0) / 2
    share = np.average(np.where(constant, steps, smooth), axis=0, weights=weights)
    return np.where(constant, (share * len(examples) + 1) / (len(examples) + 1), share)


def hierarchical(differences: np.ndarray, draws: np.ndarray, generator: np.random.Generator) -> Difference:
    """Bootstrap the mean difference hierarchically: other seeds, then other examples; valid from two seeds on.

    Drawing n seeds with replacement, then examples, has three faults for few seeds: the variance over seeds is too
    small by (n - 1) / n, the tails are those of the few values, and what examples change for single seeds is counted
    twice (Owen 2007, The pigeonhole bootstrap). So a draw here is

        mean + sqrt(v) T + sqrt(c / Var(E)) E

    with T from Student's t with n - 1 degrees of freedom, for the mean of other normal seeds, and E the mean over seeds
    of one bootstrap draw of the examples, less its expectation, shrunk to the part that all seeds share. Each E is
    taken with both T and -T, so that exchanging the two sides changes the sign of the result and nothing else.
    The sum is Behrens and Fisher's (Box and Tiao 1973, section 2.5): Student's test where examples do not matter, the
    cluster bootstrap where seeds do not. In between it is conservative: on normal data without a difference it
    rejects in 1.3 to 5 % with 2 seeds and in 3.7 to 5 % with 6, by the share of c in v + c. Satterthwaite's degrees of
    freedom would reject in up to 13 % with 2 seeds. Runs of one recipe, where c is 0, are in tests/unit/statistics.

    A few seeds may agree by luck. Then v is below the part of it that comes of the examples, which is known from many
    rows (`least`). So everything is computed a second time, with sqrt(least) and a normal variable in place of sqrt(v)
    and T: the interval is the wider of the two, p the larger. Where seeds differ by much more than examples make them,
    this changes next to nothing; where they differ by no more, the test rejects in 1 to 3 % instead of 5.

    Args:
        differences: d_s, [..., seeds]; at least two seeds.
        draws: the same on resampled examples, [draws, ..., seeds].
        generator: draws T.
    """
    n = differences.shape[-1]
    mean, of_seeds = differences.mean(axis=-1), differences.var(axis=-1, ddof=1) / n
    centred = draws - draws.mean(axis=0)
    every = centred.mean(axis=-1)
    of_mean, own = (every**2).mean(axis=0), (centred**2).mean(axis=0).sum(axis=-1) / n**2
    shared = np.maximum(of_mean - own, 0) * n / (n - 1)
    shrink = np.sqrt(shared / np.where(of_mean == 0, 1, of_mean))
    every_variance = own + of_seeds
    of_seeds, least = (np.where(v <= ROUNDING * every_variance, 0, v) for v in (of_seeds, own - shared / n))
    ranks = ((generator.permutation(len(draws)) + 0.5) / len(draws)).reshape(-1, *[1] * mean.ndim)  # each once
    estimated, known = np.sqrt(of_seeds) * special.stdtrit(n - 1, ranks), np.sqrt(least) * special.ndtri(ranks)
    centre = mean + shrink * every
    drawn = [np.concatenate([centre + noise, centre - noise]) for noise in (estimated, known)]
    lows, highs = zip(*map(bootstrap.interval, drawn), strict=True)
    p = np.maximum(*map(bootstrap.p_value, drawn))
    return Difference(mean, np.minimum(*lows), np.maximum(*highs), p, of_seeds, shared, least, n, shrink * every)


def detectable(half: float, error: float, level: float = LEVEL / 2) -> float:
    """Return the smallest true difference that a one-sided test at `level` finds in four of five repetitions.

    Args:
        half: the smallest difference at which the test rejects; at 2.5 % half the width of the 95 % interval.
        error: standard error of the difference. half / error is treated as a quantile of Student's t, whose degrees of
            freedom reflect how well the error is known; the power is then that of the noncentral t.
        level: level of the test, after correction.
    """
    if error == 0:
        return 0.0
    ratio, freedom = _as_student(half / error, level)
    most = 1.5 * ratio + 2  # where the power is 0.86 or more, of any degrees of freedom; far beyond, nctdtr is NaN
    shift: Any = optimize.brentq(lambda by: 1 - special.nctdtr(freedom, by, ratio) - POWER, 0, most)
    return shift * error


def _as_student(ratio: float, level: float) -> tuple[float, float]:
    """Return the ratio of half and error as a quantile of Student's t at `level`, and the degrees of freedom."""
    ratio = max(ratio, -float(special.ndtri(level)) + 1e-3)
    ratio = min(ratio, _t_isf(level, 1))
    freedom: Any = optimize.brentq(lambda df: _t_isf(level, df) - ratio, 1 - 1e-6, 1e5)
    return ratio, freedom


def _t_isf(level: float, freedom: float) -> float:
    """Return the value that Student's t exceeds in that share of cases."""
    return -float(special.stdtrit(freedom, level))


def promised(seed_sd: float, example_sd: float, seeds: int, level: float) -> float:
    """Return the difference that is detectable with that many seeds, for given spreads.

    Args:
        seed_sd: standard deviation of single seeds' differences.
        example_sd: that of their mean over the choice of examples, which more seeds do not reduce.
    """
    error = math.hypot(seed_sd / math.sqrt(seeds), example_sd)
    return detectable(critical(seed_sd, example_sd, seeds, level), error, level) if error else 0.0


def within(seed_sd: float, example_sd: float, seeds: int, level: float) -> float:
    """Return the smallest margin within which a true difference of 0 is proved to lie, in four of five repetitions.

    Two one-sided tests prove that (Schuirmann 1987): that the difference is not -margin or less, and not margin or
    more. Both have to reject, each at `level`. With e the true error of the mean, e S its estimate, and q = half / e a
    quantile of Student's t with f degrees of freedom as in `detectable` (f S^2 is chi squared's), they do where the
    mean is no farther from 0 than margin - q e S. A true difference of 0 is so told with the probability (Phillips
    1990, Power of the two one-sided tests procedure in bioequivalence)

        E[max(0, 2 Phi(margin / e - q S) - 1)]

    Since either test can fail, that asks of each for a power of 0.9 or so: seldom do both fail at once.

    Args:
        seed_sd: as of `promised`, like the next three.
        example_sd: the same.
        seeds: the same.
        level: the same.
    """
    error = math.hypot(seed_sd / math.sqrt(seeds), example_sd)
    if error == 0:
        return 0.0
    ratio, freedom = _as_student(critical(seed_sd, example_sd, seeds, level) / error, level)
    ranks = (np.arange(1_000) + 0.5) / 1_000
    half = ratio * np.sqrt(2 * special.gammaincinv(freedom / 2, ranks) / freedom)  # q S, at its quantiles

    def power(margin: float) -> float:
        return float(np.maximum(0, 2 * special.ndtr(margin - half) - 1).mean())

    smallest: Any = optimize.brentq(lambda by: power(by) - POWER, 0, 3 * ratio + 3)  # S is above 3 in 0.3 % at most
    return smallest * error


def beyond(seed_sd: float, example_sd: float, seeds: int, level: float, margin: float, sides: int) -> float:
    """Return the smallest true difference that is proved to exceed `margin`, in four of five repetitions.

    It is margin + promised(level / sides), since the test against the margin is that against 0, shifted.

    Args:
        seed_sd: as of `promised`, like the next two.
        example_sd: the same.
        seeds: the same.
        level: after correction, also for the number of parts of which any may refute their claim.
        sides: 2 where a difference of either sign counts, so that its p is doubled (`verdicts.close`); 1 where only a
            positive one does (`verdicts.not_higher`).
    """
    return margin + promised(seed_sd, example_sd, seeds, level / sides)


def critical(seed_sd: float, example_sd: float, seeds: int, level: float) -> float:
    """Return the smallest difference at which a one-sided test at `level` rejects, for given spreads."""
    nodes, weights = normal_draws(example_sd)
    of_seeds = np.asarray(seed_sd**2 / seeds)
    if seed_sd == 0:
        return -float(special.ndtri(level)) * example_sd
    most = math.hypot(_t_isf(level / 2, seeds - 1) * seed_sd, float(special.ndtri(level / 2)) * example_sd)
    smallest: Any = optimize.brentq(
        lambda by: float(share_below(np.asarray(-by), of_seeds, seeds, nodes, weights)) - level, 0, 2 * most
    )
    return smallest


def normal_draws(sd: np.ndarray | float, points: int = 241) -> tuple[np.ndarray, np.ndarray]:
    """Return a normal distribution as equidistant draws, [points, ...], and their weights, for integrals."""
    nodes = np.linspace(-6, 6, points)
    weights = np.exp(-(nodes**2) / 2)
    return nodes.reshape(-1, *[1] * np.ndim(sd)) * sd, weights / weights.sum()


def needed(
    seed_sd: float, example_sd: float, difference: float, level: float, found: Found = promised, most: int = 1_000
) -> int | None:
    """Return the fewest seeds, at least three, with which `difference` is found; None where `most` are too few.

    Args:
        found: what that many seeds find: `promised`, or with a margin for difference `within`.
    """
    if found(seed_sd, example_sd, most, level) > difference:
        return None
    few, many = 2, most
    while many - few > 1:
        middle = (few + many) // 2
        enough = found(seed_sd, example_sd, middle, level) <= difference
        few, many = (few, middle) if enough else (middle, many)
    return many


def sign_flip(differences: np.ndarray) -> np.ndarray:
    """Return the two-sided p of the exact sign-flip test over matched seeds, [..., seeds].

    Without a difference each seed's difference has either sign with the same probability. The test concerns other seeds
    on the same examples, and assumes no distribution of theirs. Its p is at least `sign_flip_floor(seeds)`. It is of
    all signs up to 16 seeds, and of 100,000 draws of them beyond.
    """
    from scipy import stats  # takes half a second, and single seeds have no such test

    test = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", vectorized=True, axis=-1, n_resamples=100_000,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    return np.asarray(test.pvalue)


def sign_flip_floor(seeds: int) -> float:
    """Return the smallest p of the sign-flip test, 2^(1 - seeds): with five seeds or fewer it never rejects at 5 %.

    Its level is exact: with six seeds it rejects in 3.1 %.
    """
    return math.ldexp(1, 1 - seeds)
