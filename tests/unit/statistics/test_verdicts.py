"""The rule of verdicts on p that are written out."""

import numpy as np
import pytest
from scipy import stats

from mtbert.statistics import verdicts
from mtbert.statistics.verdicts import PartP

ERROR = 0.004


def bounds(difference: float):
    """The p of a normal estimate."""
    return (
        lambda bound: np.asarray(stats.norm.cdf((bound - difference) / ERROR)),
        lambda bound: np.asarray(stats.norm.sf((bound - difference) / ERROR)),
    )


def p(difference: float, announced: float | None = 0.05) -> list[float]:
    found = verdicts.one_sided(*bounds(difference), 0.01, announced)
    return [round(float(value), 4) for value in (found.holds, found.fails, found.little)]


def test_the_p_of_a_part_that_says_higher() -> None:
    assert p(0.02) == [0.0, 0.9938, 0.9938]
    assert p(0.0) == [0.5, 0.0062, 0.0062]
    assert p(0.0, announced=None) == [0.5, 0.0062, 0.0062]


def test_what_the_paper_gives_as_small_does_not_fail_for_being_small() -> None:
    assert p(0.0, announced=0.004) == [0.5, 0.5, 1]  # fails where it is below 0
    assert p(-0.02, announced=0.004) == [1.0, 0.0, 1]


def test_the_p_of_a_part_that_says_close() -> None:
    found = [verdicts.close(*bounds(at), 0.01) for at in (0.0, 0.02, -0.02)]
    assert [round(float(each.holds), 4) for each in found] == [0.0062, 0.9938, 0.9938]
    assert [round(float(each.fails), 4) for each in found] == [1, 0.0124, 0.0124]  # twice: either side refutes
    assert [float(each.little) for each in found] == [1, 1, 1]


def test_the_p_of_a_part_that_says_not_higher() -> None:
    found = [verdicts.not_higher(*bounds(at), 0.01) for at in (0.0, 0.02, -0.02)]
    assert [round(float(each.holds), 4) for each in found] == [0.0062, 0.9938, 0.0]  # what is worse refutes nothing
    assert [round(float(each.fails), 4) for each in found] == [0.9938, 0.0062, 1.0]
    assert [float(each.little) for each in found] == [1, 1, 1]


def decide(holds, fails, little, of, levels=(0.02,)) -> list[list[bool]]:
    """One look where the parts' p are in a row, several where in rows."""
    parts = PartP(*(np.atleast_2d(np.array(each, dtype=float)) for each in (holds, fails, little)))
    made = verdicts.decide(parts, of, levels)
    return [each.tolist() for each in (made.holds, made.fails, made.little)]


ONE = [1, 1]


def test_a_claim_holds_by_the_largest_p_of_its_parts_without_correction_for_their_number() -> None:
    assert decide([0.019, 0.019], ONE, ONE, [[0, 1]])[0] == [True]
    assert decide([0.019, 0.021], ONE, ONE, [[0, 1]])[0] == [False]


def test_it_fails_by_the_smallest_times_their_number() -> None:
    assert decide(ONE, [0.0099, 0.9], ONE, [[0, 1]])[1] == [True]
    assert decide(ONE, [0.0101, 0.9], ONE, [[0, 1]])[1] == [False]


def test_both_are_corrected_over_the_claims_also_those_that_were_not_run() -> None:
    assert decide([0.009, 1], ONE, ONE, [[0], [1]])[0] == [True, False]
    assert decide([0.011, 1], ONE, ONE, [[0], [1]])[0] == [False, False]
    assert decide(ONE, [0.009, 0.018], ONE, [[0], [1]])[1] == [True, True]  # Holm: the larger one once


def test_a_part_that_leans_to_its_claim_does_not_refute_it() -> None:
    assert decide([0.21], [0.001], [0.001], [[0]]) == [[False], [True], [True]]
    assert decide([0.19], [0.001], [0.001], [[0]]) == [[False], [False], [True]]
    assert decide([0.01], [0.001], [0.001], [[0]]) == [[True], [False], [True]]  # real, but small


def test_each_look_has_its_level_and_what_is_proved_stays_proved() -> None:
    levels = (0.001, 0.008, 0.02)
    assert decide([[0.002], [0.007], [0.5]], [ONE[:1]] * 3, [ONE[:1]] * 3, [[0]], levels)[0] == [True]
    assert decide([[0.002], [0.009], [0.021]], [ONE[:1]] * 3, [ONE[:1]] * 3, [[0]], levels)[0] == [False]


def test_planned_looks_together_err_and_find_as_they_were_planned_to() -> None:
    random = np.random.default_rng(1)

    def share(shift: float) -> float:
        """Of one claim with one part whose difference is `shift` standard deviations."""
        seen = random.normal(shift, size=(20_000, 10))
        p = [stats.ttest_1samp(seen[:, :count], 0, axis=1, alternative="greater").pvalue for count in verdicts.LOOKS]
        holds = np.array(p)[..., None]
        found = verdicts.decide(
            PartP(holds, np.ones_like(holds), np.ones_like(holds)), [[0]], [*verdicts.LOOKS.values()]
        )
        return float(found.holds.mean())

    assert share(0) == pytest.approx(0.024, abs=0.003)
    # where a test of ten seeds at 2.5 % finds 80 %
    assert share(0.996) == pytest.approx(0.77, abs=0.015)
