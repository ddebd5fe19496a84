"""Intervals and tests on arrays: what scipy and statsmodels say, where they have it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mtbert.scores import metrics
from mtbert.stats import Estimate, Side, difference, holm, influence, mean_of, score
from mtbert.stats.estimates import welch
from mtbert.tasks import METRIC_NAMES

OURS, OTHER = np.array([0.71, 0.74, 0.72, 0.70]), np.array([0.70, 0.69, 0.73, 0.68, 0.70])


def side(scores: np.ndarray, moves: np.ndarray, clusters: int = 100) -> Side:
    """A side of 100 rows."""
    return Side(scores, moves, rows=100, clusters=clusters)


def unmoved(scores: np.ndarray, clusters: int = 100) -> Side:
    """Scores that no cluster of rows moves."""
    return side(scores, np.zeros((10, len(scores))), clusters)


def test_where_rows_change_nothing_it_is_welchs_t() -> None:
    found = difference(unmoved(OURS), unmoved(OTHER))
    expected: Any = stats.ttest_ind(OURS, OTHER, equal_var=False)
    assert (found.p, found.freedom) == pytest.approx((expected.pvalue, expected.df))
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()))
    assert found.p_at_most(0) == pytest.approx(expected.pvalue / 2)
    assert found.p_at_least(0) == pytest.approx(1 - expected.pvalue / 2)


def test_a_score_that_no_row_moves_has_students_interval_over_seeds_from_three_on() -> None:
    found = score(unmoved(OURS), (0.0, 1.0))
    assert found.mean == pytest.approx(0.7175)
    assert found.interval == pytest.approx(stats.t.interval(0.95, 3, OURS.mean(), stats.sem(OURS)))
    assert score(unmoved(OURS[:2]), (0.0, 1.0)).interval is None


def test_seeds_that_score_the_same_still_have_the_noise_of_rows() -> None:
    found = score(side(np.full(4, 0.7), np.tile([[0.012], [-0.016]], 4)), (0.0, 1.0))
    assert found.error == pytest.approx(0.02)


def test_an_interval_of_a_score_ends_where_its_metric_does() -> None:
    assert score(side(np.full(4, 0.99), np.tile([[0.012], [-0.016]], 4)), (0.0, 1.0)).interval[1] == 1.0  # type: ignore[index]


def test_two_trainings_by_themselves_are_moved_by_rows_alone() -> None:
    two = side(np.array([0.5, 0.7]), np.array([[0.03, 0.01], [0.0, -0.04], *[[0.0, 0.0]] * 8])).as_trained
    assert (two.mean, two.seeds) == (0.6, 0)
    assert score(two, (0.0, 1.0)).error == pytest.approx(np.hypot(0.02, 0.02))


def test_what_rows_change_for_all_seeds_alike_is_added_once() -> None:
    alike = np.array([[0.012], [-0.016]])  # 0.02 in all
    found = difference(side(OURS, np.tile(alike, 4)), side(OTHER, np.zeros((2, 5))))
    of_seeds = OURS.var(ddof=1) / 4 + OTHER.var(ddof=1) / 5
    assert found.error == pytest.approx(np.sqrt(of_seeds + 0.02**2))
    both = difference(side(OURS, np.tile(alike, 4)), side(OTHER, np.tile(alike, 5)))
    assert both.error == pytest.approx(np.sqrt(of_seeds))


def test_seeds_that_agree_by_luck_have_the_noise_of_single_rows() -> None:
    same = np.full(4, 0.7)
    each_its_own, others = np.diag([0.02] * 8)[:, :4], np.diag([0.02] * 8)[:, 4:]
    found = difference(side(same, each_its_own), side(same, others))
    assert found.error == pytest.approx(0.02 * np.sqrt(2 / 4))


@pytest.mark.parametrize(("seeds", "clusters"), [(2, 100), (4, 5)])
def test_of_two_seeds_or_five_clusters_the_mean_alone_is_told(seeds: int, clusters: int) -> None:
    found = difference(unmoved(OURS[:seeds], clusters), unmoved(OTHER, clusters))
    assert (found.interval, found.p, found.p_at_most(0)) == (None, None, 1)


def test_welch_counts_clusters_among_the_degrees_of_freedom() -> None:
    error, freedom = welch((0.0, 0.0), (6, 6), 0.04, clusters=7)
    assert (error, freedom) == pytest.approx((0.2, 6))


def test_sides_that_differ_in_no_cluster_are_not_taken_to_differ_in_all() -> None:
    ours, other = side(OURS, np.tile([[0.012], [-0.016]], 4)), side(OTHER, np.zeros((2, 5)))
    in_none, in_one, in_all = (difference(ours, other, differing).freedom for differing in (0, 1, None))
    assert (in_none, in_none < in_all) == (in_one, True)


def test_one_model_has_the_error_of_a_share_and_nothing_below_six_clusters() -> None:
    model = seedless(np.arange(200) < 150, np.arange(200))
    found = difference(model, model.constant(0.0))
    assert (found.error, found.freedom) == pytest.approx((np.sqrt(0.75 * 0.25 / 200), 199))
    few = seedless(np.arange(200) < 150, np.arange(200) % 5)
    assert difference(few, few.constant(0.0)).interval is None


def seedless(right: np.ndarray, clusters: np.ndarray) -> Side:
    """A side without seeds that is right on these rows."""
    side = influence.scored("accuracy", np.ones(len(right)), right[:, None], clusters, [])
    return replace(side, has_seeds=False)


MOVES = np.array([[0.03], [-0.01], [-0.02], [0.02], [0.01], [-0.03]])  # the sum of squares is 0.0028
BASELINE = Side(np.array([0.6]), MOVES, rows=60, clusters=6, has_seeds=False)


def test_a_side_without_seeds_varies_with_rows_alone_by_the_sum_of_squares_of_its_moves() -> None:
    assert (BASELINE.seeds, BASELINE.variance, BASELINE.row_covariance) == (0, 0.0, pytest.approx(0.0028))
    trained_four_times = Side(np.full(4, 0.6), np.tile(MOVES, 4), rows=60, clusters=6)
    assert trained_four_times.row_covariance == pytest.approx(BASELINE.row_covariance)


def test_against_a_side_without_seeds_rows_count_that_move_both_alike_and_seeds_of_one_side() -> None:
    alike = Side(OURS, np.tile(MOVES, 4), rows=60, clusters=6)
    assert difference(alike, BASELINE).error == pytest.approx(np.sqrt(OURS.var(ddof=1) / 4))
    unlike = Side(OURS, np.tile(-MOVES, 4), rows=60, clusters=6)
    found = difference(unlike, BASELINE)
    assert found.error == pytest.approx(np.sqrt(OURS.var(ddof=1) / 4 + 4 * 0.0028))
    assert (found.seeds, found.row_variance) == ((4, 0), pytest.approx(4 * 0.0028))


def test_two_sides_without_seeds_are_compared_by_rows_alone() -> None:
    found = difference(BASELINE, BASELINE.constant(0.5))
    assert (found.error, found.freedom) == pytest.approx((np.sqrt(0.0028), 5))
    assert found.interval == pytest.approx(0.1 + np.sqrt(0.0028) * np.array(stats.t.interval(0.95, 5)))
    assert difference(BASELINE, BASELINE).error is None


@pytest.mark.parametrize(
    ("seeds", "fewest", "lacks"), [((6, 7), 6, False), ((5, 0), 5, True), ((0, 6), 6, False), ((0, 0), None, False)]
)
def test_seeds_are_asked_only_of_sides_that_have_them(seeds: tuple[int, int], fewest: int | None, lacks: bool) -> None:
    found = Estimate(0.0, None, 0.0, seeds, rows=1, clusters=1)
    assert (found.fewest_seeds, found.lacks_seeds(6)) == (fewest, lacks)


def test_the_mean_over_tasks_of_sides_without_seeds_has_none() -> None:
    found = mean_of([BASELINE, BASELINE])
    assert (found.seeds, found.mean) == (0, pytest.approx(0.6))
    assert found.row_covariance == pytest.approx(2 * 0.0028 / 4)


def test_in_the_mean_over_tasks_a_side_without_seeds_is_the_same_for_every_seed_of_another() -> None:
    trained = Side(OURS, np.zeros((2, 4)), rows=20, clusters=9)
    found = mean_of([BASELINE, trained])
    assert (found.seeds, found.rows, found.clusters) == (4, 80, 6)
    assert found.scores == pytest.approx((OURS + 0.6) / 2)
    assert found.row_covariance == pytest.approx(0.0028 / 4)
    assert found.variance == pytest.approx(OURS.var(ddof=1) / 4)


def sharing(moves: np.ndarray, shared_clusters: list[int]) -> Side:
    """A side without seeds, with the numbers that its clusters have in all tasks."""
    side = Side(np.array([0.6]), moves, rows=60, clusters=6, has_seeds=False)
    return replace(side, shared_clusters=np.array(shared_clusters))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (sharing(MOVES, [0, 1, 2, 3, 4, 5]), 0.0028),  # as of one task
        (sharing(-MOVES, [0, 1, 2, 3, 4, 5]), 0.0),
        (sharing(MOVES, [-1] * 6), 2 * 0.0028 / 4),
        (sharing(MOVES, [0, -1, -1, -1, -1, -1]), (2 * 0.0028 + 2 * 0.03**2) / 4),
        (sharing(MOVES[::-1], [5, 4, 3, 2, 1, 0]), 0.0028),  # in another order
        (BASELINE, 2 * 0.0028 / 4),
    ],
)
def test_in_the_mean_over_tasks_a_cluster_that_tasks_share_is_one(other: Side, expected: float) -> None:
    assert mean_of([sharing(MOVES, [0, 1, 2, 3, 4, 5]), other]).row_covariance == pytest.approx(expected)


def test_the_interval_of_a_mean_of_tasks_with_the_same_rows_is_that_of_a_bootstrap_of_their_texts() -> None:
    random = np.random.default_rng(3)
    right = random.random((400, 2)) < np.where(random.random((400, 1)) < 0.5, 0.9, 0.4)  # hard and easy texts
    labels = np.ones(400)
    tasks = [
        replace(influence.scored("accuracy", labels, right[:, [n]], np.arange(400), []), shared_clusters=np.arange(400))
        for n in (0, 1)
    ]
    mean = replace(mean_of(tasks), has_seeds=False)
    drawn = right.mean(axis=1)[random.integers(0, 400, (4000, 400))].mean(axis=1)
    assert score(mean, (0.0, 1.0)).error == pytest.approx(drawn.std(), rel=0.04)


@pytest.mark.parametrize("constant", [0.1, 2.34, 2.5])  # of 18 of the first two the mean is another number
def test_no_row_moves_the_correlation_of_a_constant(constant: float) -> None:
    side = influence.scored("pearson", np.arange(18) % 6, np.full((18, 6), constant), np.arange(18), [])
    assert not side.moves.any()
    assert difference(side, side).interval is None  # nothing varies


def test_sides_whose_seeds_are_all_alike_do_not_vary() -> None:
    right = np.arange(21) % 3 == 0
    side = influence.scored("accuracy", np.ones(21), np.column_stack([right] * 6), np.arange(21), [])
    assert difference(side, side).error is None  # though the last digits of its covariances differ


@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("classes", [[0, 1, 2], [1], [1, 2, 3]])
def test_a_row_moves_a_score_as_one_more_copy_of_it_does(metric: str, classes: list[float]) -> None:
    labels, said = np.array([1, 2, 2, 0, 1, 0, 2, 1]), np.array([1, 2, 0, 0, 2, 0, 1, 1])
    copies = 10_000
    gold, guess = (np.tile(side, copies) for side in (labels, said))
    before = metrics.score(metric, gold, guess, classes)
    after = [
        metrics.score(metric, np.append(gold, labels[row]), np.append(guess, said[row]), classes) for row in range(8)
    ]
    moves = influence.scored(metric, labels, said[:, None], np.arange(8), classes).moves
    assert moves[:, 0] == pytest.approx(copies * (np.array(after) - before), abs=1e-4)


RIGHT_EVERY_SECOND = np.array([[1], [0], [1], [0]])


def test_a_cluster_moves_a_score_by_the_sum_of_its_rows() -> None:
    moves = influence.scored("accuracy", np.ones(4), RIGHT_EVERY_SECOND, np.array([7, 7, 2, 2]), []).moves
    assert moves.tolist() == [[0], [0]]
    moves = influence.scored("accuracy", np.ones(4), RIGHT_EVERY_SECOND, np.array([7, 2, 7, 2]), []).moves
    assert moves.tolist() == [[-0.25], [0.25]]


def test_holm_is_that_of_statsmodels_for_every_family() -> None:
    p = np.random.default_rng(0).uniform(size=(5, 7)) ** 3
    for family in p:
        assert holm(family.tolist()) == pytest.approx(multipletests(family, method="holm")[1])
