"""The whole rule keeps its level on the claims as they are: parts that share variants, claims of many parts, all looks.

Of 200 simulated reports a time; docs/verdicts.md has the table of more.
"""

import functools

import pytest

from mtbert.reporting import claims, needed, simulation
from mtbert.statistics.verdicts import LOOKS

EVERY = claims.load()
LEVEL = sum(LOOKS.values())  # of all looks, at most
REPORTS = 200
LUCK = 0.03  # three standard errors and more of 200 reports


@functools.cache
def rates(times: float, before: bool = False) -> dict[str, float]:
    rule = simulation.before if before else simulation.judged
    return simulation.rates(EVERY, times, REPORTS, scale=0.5, rule=rule)


def test_no_difference_is_seldom_told_to_be_one() -> None:
    found = rates(0)
    assert found["holds, a paper"] + found["real but small, a paper"] < LEVEL + LUCK


def test_differences_at_the_margin_are_seldom_refuted() -> None:
    assert rates(1)["does not hold, a paper"] < LEVEL + LUCK
    assert rates(1)["does not hold, all papers"] < 5 * LEVEL
    assert rates(1, before=True)["does not hold, all papers"] > 0.3  # as the earlier rule did


def test_and_seldom_called_small_or_close() -> None:
    assert rates(1)["real but small, a paper"] < LEVEL + LUCK
    assert rates(1)["close: holds, a paper"] < LEVEL + LUCK
    assert rates(1)["not higher: holds, a paper"] < LEVEL + LUCK


def test_not_higher_holds_where_nothing_is_higher_and_fails_where_what_matters_is() -> None:
    assert rates(0)["not higher: holds, a claim"] > 0.5
    assert rates(0)["not higher: does not hold, a claim"] == 0
    assert rates(2)["not higher: holds, a claim"] == 0
    assert rates(2)["not higher: does not hold, a claim"] > 0.5


def test_half_the_margin_is_refuted_much_less_than_before() -> None:
    now, before = rates(0.5), rates(0.5, before=True)
    assert now["does not hold, a claim"] < 0.15 < 0.5 < before["does not hold, a claim"]


def test_what_is_there_is_found() -> None:
    assert rates(2)["holds, a claim"] > 0.8
    assert rates(2)["does not hold, a claim"] == 0
    assert rates(0)["does not hold, a claim"] > 0.4


def test_seeds_needed_by_kind_of_claim() -> None:
    table = needed.table(EVERY, {"sst": (0.004, 0.001)}).set_index(["paper", "metric"])
    measured = table.loc[("my-pal-bert", "sst")]
    assert (measured["measured"], measured["claims"], measured["seed_sd"]) == (True, 10, 0.004)
    assert 3 <= measured["seeds_twice"] < measured["seeds"] < 20
    assert not table.loc[("my-pal-bert", "qqp"), "measured"]
    lines = needed.render(table.reset_index()).splitlines()
    assert len(lines) == 2 + len(table)
    assert lines[2].split("|")[1].strip() == "My PAL BERT"


def test_noise_is_that_of_comparisons_with_seeds_enough() -> None:
    def verdict(seeds: int, seed_sd: float) -> claims.Verdict:
        found = claims.Comparison(("a",), ("b",), "sst", 0, 0, 0, 1, 1, seeds, 9, 0, {}, seed_sd, 0.002)
        return claims.Verdict(EVERY.claims["mypal-simcse-lifts"], "not run", "", ("not run",), (found,))

    found = needed.noise([verdict(3, 0.003), verdict(6, 0.004), verdict(2, 9.0)])
    assert found == {"sst": (pytest.approx((0.003**2 + 0.004**2) ** 0.5 / 2**0.5), pytest.approx(0.002))}
