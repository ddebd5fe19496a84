"""Every function of the package on input small enough to check by hand, or against published examples."""

import time

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score
from statsmodels.stats.multitest import multipletests

from mtbert.statistics import bootstrap, intervals, multiple, seeds
from mtbert.statistics.paired import paired


def random() -> np.random.Generator:
    return np.random.default_rng(1)


def test_interval_over_seeds() -> None:
    # t(2) = 4.30265, so 0.1 x 4.30265 / sqrt(3) either side
    found = intervals.over_seeds([0.4, 0.5, 0.6])
    assert vars(found) == pytest.approx({"mean": 0.5, "std": 0.1, "low": 0.251586, "high": 0.748414}, abs=1e-6)


def test_one_seed_has_no_interval() -> None:
    assert intervals.over_seeds([0.4]) == intervals.Summary(0.4, None, None, None)


def test_holm() -> None:
    assert multiple.holm([0.01, 0.04, 0.03, 0.02]) == pytest.approx([0.04, 0.06, 0.06, 0.06])  # as R's p.adjust
    two = [[0.01, 0.04, 0.03, 0.02], [0.5, 0.4, 1, 0.001]]  # each family by itself
    expected = [multipletests(family, method="holm")[1] for family in two]
    assert multiple.holm(two) == pytest.approx(np.array(expected))
    assert multiple.holm([]).tolist() == []


def test_whole_clusters_are_drawn_as_many_as_there_are() -> None:
    drawn = bootstrap.resamples(np.array([7, 3, 7, 5]), random(), draws=50)
    assert drawn.units[0] == drawn.units[2]
    assert len({drawn.units[0], drawn.units[1], drawn.units[3]}) == 3
    assert drawn.weights.sum(axis=1).tolist() == [3] * 50


def test_scores_of_each_draw_are_those_of_the_rows_that_were_drawn() -> None:
    labels, said = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.5, 0.9, 3.0, 3.0])
    weights = np.array([[1, 1, 1], [2, 0, 1], [0, 3, 0]], dtype=np.float32)
    drawn = bootstrap.Resamples(weights, np.array([0, 1, 0, 2]))
    rows = [[0, 1, 2, 3], [0, 2, 0, 2, 3], [1, 1, 1]]
    correct = np.array([True, False, True, True])
    assert bootstrap.accuracies(correct[:, None], drawn)[:, 0].tolist() == pytest.approx([3 / 4, 1, 0])
    expected = [stats.pearsonr(labels[i], said[i]).statistic for i in rows[:2]]
    assert bootstrap.pearsons(labels, said, drawn)[:, 0].tolist() == pytest.approx([*expected, 0], abs=1e-6)


def test_f1_and_spearman_of_each_draw_are_those_of_the_rows_that_were_drawn() -> None:
    labels, said = np.array([0.0, 1.0, 2.0, 1.0]), np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.5], [2.0, 1.0]])
    weights = np.array([[1, 1, 1], [2, 0, 1], [0, 3, 0]], dtype=np.float32)
    drawn = bootstrap.Resamples(weights, np.array([0, 1, 0, 2]))
    rows = [[0, 1, 2, 3], [0, 2, 0, 2, 3], [1, 1, 1]]
    rho = [[stats.spearmanr(labels[i], column[i]).statistic for column in said.T] for i in rows[:2]]
    assert bootstrap.spearmans(labels, said, drawn) == pytest.approx(np.array([*rho, [0, 0]]))
    macro = [f1_score(labels[i], said[i, 0], average="macro", labels=[0, 1, 2], zero_division=0) for i in rows]
    assert bootstrap.f1s(labels, said[:, :1], drawn)[:, 0].tolist() == pytest.approx(macro)
    binary = [f1_score(labels[i] > 0, said[i, 0] > 0, zero_division=0) for i in rows]
    assert bootstrap.f1s((labels > 0) + 0.0, (said[:, :1] > 0) + 0.0, drawn)[:, 0].tolist() == pytest.approx(binary)


def test_ranks_are_taken_of_a_few_draws_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, said = random().normal(size=30), random().normal(size=(30, 1)).round(1)
    drawn = bootstrap.resamples(np.arange(30), random(), draws=50)
    whole = bootstrap.spearmans(labels, said, drawn)
    monkeypatch.setattr(bootstrap, "RANKED", 300)
    assert bootstrap.spearmans(labels, said, drawn) == pytest.approx(whole)


def test_the_bootstrap_of_a_proportion_is_binomial() -> None:
    correct = np.repeat([True, False], [30, 70])[:, None]
    found = bootstrap.accuracies(correct, bootstrap.resamples(np.arange(100), random()))
    assert found.mean() == pytest.approx(0.3, abs=1e-3)
    assert found.std() == pytest.approx(np.sqrt(0.3 * 0.7 / 100), rel=0.03)


def test_p_is_twice_the_smaller_side_with_ties_halved_and_never_0() -> None:
    draws = np.array([[-1, 1], [0, 1], [1, 1], [2, 1]])
    assert bootstrap.p_value(draws).tolist() == pytest.approx([1, 2 / 5])
    assert bootstrap.p_value(np.zeros((9, 1))).tolist() == [1]


def test_ten_thousand_resamples_of_twenty_thousand_rows_take_about_a_second() -> None:
    correct = random().random((20_000, 2)) < 0.8
    began = time.process_time()
    bootstrap.accuracies(correct, bootstrap.resamples(np.arange(20_000), random(), draws=10_000))
    assert time.process_time() - began < 3  # 0.2 s, measured; the machine may be slower or busy


def test_where_examples_do_not_matter_the_hierarchical_bootstrap_is_the_t_test() -> None:
    differences = np.array([0.01, 0.03, 0.02, 0.05])
    found = seeds.hierarchical(differences, np.tile(differences, (10_000, 1)), random())
    test = stats.ttest_1samp(differences, 0)
    low, high = test.confidence_interval()
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.p == pytest.approx(test.pvalue, abs=3e-4)


def test_where_seeds_do_not_matter_it_is_the_bootstrap_of_the_examples() -> None:
    draws = np.repeat(random().normal(0.02, 0.01, size=(10_000, 1)), 3, axis=1)
    found = seeds.hierarchical(np.full(3, 0.02), draws, random())
    assert (found.low, found.high) == (pytest.approx(0.0004, abs=5e-4), pytest.approx(0.0396, abs=5e-4))
    assert found.of_seeds == 0


def test_exchanging_the_sides_changes_the_sign_alone() -> None:
    differences = np.array([0.01, 0.03, -0.01])
    draws = differences + random().normal(scale=0.01, size=(1_000, 3))
    one, other = (seeds.hierarchical(sign * differences, sign * draws, random()) for sign in (1, -1))
    assert one.p == pytest.approx(other.p, rel=1e-12)
    assert (one.low, one.high) == (pytest.approx(-other.high, rel=1e-9), pytest.approx(-other.low, rel=1e-9))


@pytest.mark.parametrize("apart", [0, 1e-4])
def test_seeds_that_agree_by_luck_have_the_noise_that_examples_give_single_ones(apart: float) -> None:
    differences = 0.01 + apart * np.array([-1, 0, 1])
    draws = differences + random().normal(scale=0.01, size=(10_000, 3))  # independent: the three might have differed
    found = seeds.hierarchical(differences, draws, random())
    known = stats.norm(0.01, 0.01 / np.sqrt(3))
    assert (found.low, found.high) == (
        pytest.approx(known.ppf(0.025), abs=3e-4),
        pytest.approx(known.ppf(0.975), abs=3e-4),
    )
    assert found.p == pytest.approx(2 * known.cdf(0), rel=0.1)
    assert found.at_most(0) == pytest.approx(known.cdf(0), rel=0.1)
    assert found.at_least(0.02) == pytest.approx(known.sf(0.02), rel=0.1)
    assert found.planned == found.least == pytest.approx(0.01**2 / 3, rel=0.03)


def test_what_examples_change_for_single_seeds_counts_once() -> None:
    differences = np.array([-0.01, 0.01, 0.0])
    draws = differences + random().normal(scale=0.01, size=(10_000, 3))  # independent: nothing is shared
    found = seeds.hierarchical(differences, draws, random())
    assert found.of_seeds == pytest.approx(0.01**2 / 3)
    assert found.of_examples == pytest.approx(0, abs=2e-6)
    assert found.high == pytest.approx(float(stats.t.isf(0.025, 2)) * 0.01 / np.sqrt(3), rel=0.02)


def test_plans_do_not_believe_that_three_seeds_agree_by_more_than_their_examples_let_them() -> None:
    differences = np.array([0.02, 0.0201, 0.0199])
    draws = differences + random().normal(scale=0.01, size=(10_000, 3))
    found = paired(differences, draws, [1, 2, 3], random())
    assert found.seed_sd == pytest.approx(0.01, rel=0.02)
    wide = np.array([0.02, 0.06, -0.02])
    assert paired(wide, wide + draws - differences, [1, 2, 3], random()).seed_sd == pytest.approx(0.04)


def test_p_beyond_a_bound_is_the_one_sided_t_test_where_examples_do_not_matter() -> None:
    differences = np.array([0.01, 0.03, 0.02, 0.05])
    found = seeds.hierarchical(differences, np.tile(differences, (1_000, 1)), random())
    for bound in (0, 0.01, 0.1):
        less, greater = (stats.ttest_1samp(differences, bound, alternative=side).pvalue for side in ("less", "greater"))
        assert found.at_most(bound) == pytest.approx(greater)
        assert found.at_least(bound) == pytest.approx(less)


def test_and_the_share_of_draws_beyond_where_seeds_do_not() -> None:
    draws = np.repeat(np.array([-0.01, 0.01, 0.02, 0.02])[:, None], 3, axis=1)
    found = seeds.hierarchical(np.full(3, 0.01), draws, random())
    assert found.at_most(0) == pytest.approx((1 + 1) / 5)  # one draw of four, and the observed one
    assert found.at_least(0.05) == pytest.approx(1 / 5)
    assert found.at_least(0.02) == pytest.approx((2 / 2 + 1) / 5)  # ties are halved


def test_p_is_told_far_beyond_the_number_of_draws() -> None:
    differences = np.array([0.030, 0.031, 0.032, 0.031, 0.030, 0.032])
    found = seeds.hierarchical(differences, differences + random().normal(scale=1e-3, size=(1_000, 6)), random())
    assert 0 < found.at_most(0) < 1e-6


def test_normal_draws_have_the_moments_of_the_normal() -> None:
    nodes, weights = seeds.normal_draws(np.array([1.0, 2.0]))
    assert np.average(nodes, axis=0, weights=weights) == pytest.approx(np.zeros(2), abs=1e-12)
    assert np.average(nodes**2, axis=0, weights=weights) == pytest.approx([1, 4])
    share = seeds.share_below(np.array(-0.2), np.array(1e-8), 5, *seeds.normal_draws(0.1))
    assert share == pytest.approx(stats.norm.cdf(-2), abs=1e-3)


def test_what_planned_seeds_find() -> None:
    # no noise of examples: the t-test's power
    shift = seeds.promised(0.1, 0, 10, 0.02) / (0.1 / np.sqrt(10))
    assert stats.nct.sf(stats.t.isf(0.02, 9), 9, shift) == pytest.approx(0.8, abs=1e-3)
    assert seeds.promised(0, 0, 10, 0.02) == 0
    # none of seeds: the normal's
    assert seeds.promised(0, 0.01, 10, 0.02) == pytest.approx(0.01 * (2.0537 + 0.8416), rel=1e-2)


def test_seeds_needed() -> None:
    fewest = seeds.needed(0.01, 0.002, 0.01, 0.02)
    assert fewest is not None
    assert seeds.promised(0.01, 0.002, fewest, 0.02) <= 0.01 < seeds.promised(0.01, 0.002, fewest - 1, 0.02)
    assert seeds.needed(0.0001, 0, 0.01, 0.02) == 3  # never fewer
    assert seeds.needed(0.01, 0.005, 0.01, 0.02) is None  # the examples alone hide it


def test_detectable() -> None:
    assert seeds.detectable(1.96, 1) == pytest.approx(1.96 + 0.8416, rel=1e-3)  # normal: z(0.975) + z(0.8)
    shift = seeds.detectable(float(stats.t.isf(0.025, 5)) * 0.1, 0.1) / 0.1
    assert stats.nct.sf(stats.t.isf(0.025, 5), 5, shift) == pytest.approx(0.8, abs=1e-3)
    assert seeds.detectable(0, 0) == 0


def test_sign_flip() -> None:
    assert seeds.sign_flip(np.array([1.0, 2, 3, 4, 5, 6])) == seeds.sign_flip_floor(6) == 2 / 64
    # of the 8 sums of ±1 ±2 ±4, those as far from 0 as 1 + 2 - 4 = -1: all; as 1 - 2 + 4 = 3: six
    assert seeds.sign_flip(np.array([[1.0, 2, -4], [1.0, -2, 4]])).tolist() == [1, 6 / 8]


def test_the_sign_flips_p_of_many_seeds_is_the_same_each_time() -> None:
    differences = random().normal(size=20)
    assert len({float(seeds.sign_flip(differences)) for _ in range(3)}) == 1
