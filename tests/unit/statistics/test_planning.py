"""What is promised of planned seeds comes true in four of five simulated repetitions, by the p of the rule itself."""

from collections.abc import Callable

import numpy as np
import pytest

from mtbert.statistics import seeds, verdicts
from mtbert.statistics.verdicts import P, PartP

BY_SEED, BY_EXAMPLES = 0.0072, 0.0024  # overall, as the simulation of docs/verdicts.md assumes
MATTERS, LEVEL = 0.01, 0.004  # of five claims
REPETITIONS = 10_000
LUCK = 0.012  # three standard errors of 0.8
Rule = Callable[[P, P, float], PartP]


def simulated(rule: Rule, truth: float, count: int) -> PartP:
    """The p of a part in many repetitions with that many seeds."""
    random = np.random.default_rng(count)
    by_examples = random.normal(scale=BY_EXAMPLES, size=(REPETITIONS, 1))
    found = truth + by_examples + random.normal(scale=BY_SEED, size=(REPETITIONS, count))
    mean, of_seeds = found.mean(axis=1), found.var(axis=1, ddof=1) / count
    draws, weights = seeds.normal_draws(np.full(REPETITIONS, BY_EXAMPLES), points=31)
    return rule(
        lambda bound: seeds.share_below(bound - mean, of_seeds, count, draws, weights),
        lambda bound: seeds.share_below(mean - bound, of_seeds, count, -draws, weights),
        MATTERS,
    )


def test_seeds_needed_to_tell_that_two_are_close_are_more_than_one_test_needs() -> None:
    one, both = (seeds.needed(BY_SEED, BY_EXAMPLES, MATTERS, LEVEL, found) for found in (seeds.promised, seeds.within))
    assert (one, both) == (24, 76)
    told_by_one = np.mean(simulated(verdicts.close, 0, 24).holds <= LEVEL)
    told_by_both = np.mean(simulated(verdicts.close, 0, 76).holds <= LEVEL)
    assert told_by_one == pytest.approx(0.6, abs=0.02)
    assert told_by_both == pytest.approx(seeds.POWER, abs=LUCK)


def test_seeds_needed_to_tell_that_one_is_not_higher_are_those_of_one_test() -> None:
    assert np.mean(simulated(verdicts.not_higher, 0, 24).holds <= LEVEL) == pytest.approx(seeds.POWER, abs=LUCK)


@pytest.mark.parametrize("count", [6, 10])
def test_what_refutes_that_two_are_close(count: int) -> None:
    found = seeds.beyond(BY_SEED, BY_EXAMPLES, count, LEVEL, MATTERS, sides=2)
    for truth in (found, -found):
        assert np.mean(simulated(verdicts.close, truth, count).fails <= LEVEL) == pytest.approx(seeds.POWER, abs=LUCK)


@pytest.mark.parametrize("count", [6, 10])
def test_what_refutes_that_one_is_not_higher(count: int) -> None:
    found = seeds.beyond(BY_SEED, BY_EXAMPLES, count, LEVEL, MATTERS, sides=1)
    assert np.mean(simulated(verdicts.not_higher, found, count).fails <= LEVEL) == pytest.approx(seeds.POWER, abs=LUCK)


def test_the_margin_within_which_no_difference_is_told_to_lie() -> None:
    # none of seeds: the normal's, at 2 % and with a power of 0.9 on each side
    assert seeds.within(0, 0.01, 10, 0.02) == pytest.approx(0.01 * (2.0537 + 1.2816), rel=1e-3)
    assert seeds.within(0, 0, 10, 0.02) == 0
    # a few seeds: less than 0.9 is asked of each, as both fail at once where their spread is overestimated
    asked = seeds.within(0.01, 0, 3, 0.02) / (0.01 / np.sqrt(3))
    random = np.random.default_rng(1)
    mean, spread = random.normal(size=100_000), np.sqrt(random.chisquare(2, size=100_000) / 2)
    assert np.mean(np.abs(mean) <= asked - 4.849 * spread) == pytest.approx(0.8, abs=0.005)  # t, 2 degrees, 2 %
