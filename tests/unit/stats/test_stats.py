"""Intervals and tests on arrays: what scipy and statsmodels say, where they have it."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mtbert.stats import difference, holm, resampling, summary
from mtbert.stats.differences import of_models, welch
from mtbert.stats.exact import of_few
from mtbert.stats.resampling import Scored

OURS, OTHER = np.array([0.71, 0.74, 0.72, 0.70]), np.array([0.70, 0.69, 0.73, 0.68, 0.70])


def unmoved(scores: np.ndarray) -> Scored:
    """Return scores with draws of rows that change nothing, [draws, seeds]."""
    return scores, np.tile(scores, (10, 1))


def test_where_rows_change_nothing_it_is_welchs_t() -> None:
    found = difference(unmoved(OURS), unmoved(OTHER), rows=100, clusters=100)
    expected: Any = stats.ttest_ind(OURS, OTHER, equal_var=False)
    assert (found.p, found.freedom) == pytest.approx((expected.pvalue, expected.df))
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()))
    assert found.p_at_most(0) == pytest.approx(expected.pvalue / 2)
    assert found.p_at_least(0) == pytest.approx(1 - expected.pvalue / 2)


def test_a_mean_over_seeds_has_students_interval_from_three_on() -> None:
    mean, interval = summary(OURS.tolist())
    assert mean == pytest.approx(0.7175)
    assert interval == pytest.approx(stats.t.interval(0.95, 3, OURS.mean(), stats.sem(OURS)))
    assert summary([0.5, 0.7]) == (0.6, None)


def test_what_rows_change_for_all_seeds_alike_is_added_once() -> None:
    moved = np.random.default_rng(0).normal(scale=0.02, size=(10_000, 1))
    found = difference((OURS, OURS + moved), (OTHER, np.tile(OTHER, (10_000, 1))), rows=100, clusters=100)
    of_seeds = OURS.var(ddof=1) / 4 + OTHER.var(ddof=1) / 5
    assert found.error == pytest.approx(np.sqrt(of_seeds + 0.02**2), rel=0.02)
    both = difference((OURS, OURS + moved), (OTHER, OTHER + moved), rows=100, clusters=100)
    assert both.error == pytest.approx(np.sqrt(of_seeds), rel=0.02)


def test_seeds_that_agree_by_luck_have_the_noise_of_single_rows() -> None:
    same = np.full(4, 0.7)
    draws = same + np.random.default_rng(0).normal(scale=0.02, size=(10_000, 4))
    found = difference((same, draws), (same, draws[:, ::-1]), rows=100, clusters=100)
    assert found.error == pytest.approx(0.02 * np.sqrt(2 / 4), rel=0.05)


@pytest.mark.parametrize(("seeds", "clusters"), [(2, 100), (4, 5)])
def test_of_two_seeds_or_five_clusters_the_mean_alone_is_told(seeds: int, clusters: int) -> None:
    found = difference(unmoved(OURS[:seeds]), unmoved(OTHER), 100, clusters)
    assert (found.interval, found.p, found.p_at_most(0)) == (None, None, 1)


def test_welch_counts_clusters_among_the_degrees_of_freedom() -> None:
    error, freedom = welch([0.0, 0.0], [6, 6], 0.04, clusters=7)
    assert (float(error), float(freedom)) == pytest.approx((0.2, 6))


def test_of_whole_clusters_it_is_the_sign_flip_test() -> None:
    (_, _), p = of_few(np.array([2.0, 1, 1, 0, 0, 0]), 12)
    assert p == pytest.approx(0.25)


def test_one_model_has_the_bootstraps_error_and_nothing_below_six_clusters() -> None:
    right, drawn = np.arange(200) < 150, resampling.resamples(np.arange(200), np.random.default_rng(0))
    _, draws = resampling.scored("accuracy", np.ones(200), right[:, None], drawn)
    assert of_models(0.75, draws[:, 0], 200, 200, 200).error == pytest.approx(np.sqrt(0.75 * 0.25 / 200), rel=0.03)
    assert of_models(0.75, draws[:, 0], 200, 5, 5).interval is None


def test_holm_is_that_of_statsmodels_for_every_family() -> None:
    p = np.random.default_rng(0).uniform(size=(5, 7)) ** 3
    assert holm(p) == pytest.approx(np.array([multipletests(family, method="holm")[1] for family in p]))
