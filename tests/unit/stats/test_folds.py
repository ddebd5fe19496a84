"""Sides of folds: a column for each fold, whose mean is the pooled score; and their error, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mtbert.stats import Side, difference, folds, influence, mean_of, score

LABELS = np.array([0.0, 0, 0, 0, 0, 0, 0, 0])
OF_FOLD = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def pooled(wrong: list[int], metric: str = "accuracy") -> Side:
    """Two folds of four rows, of which some are predicted wrongly."""
    predicted = np.isin(np.arange(8), wrong).astype(float)
    side = influence.scored(metric, LABELS, predicted[:, None], np.arange(8), range(2))
    return folds.of_pooled(side, OF_FOLD, 2)


def test_the_columns_are_the_folds_scores_and_their_mean_is_the_pooled_score() -> None:
    side = pooled([0, 4, 5, 6])
    assert side.scores.tolist() == pytest.approx([0.75, 0.25])
    assert (side.mean, side.seeds, side.folds) == (pytest.approx(0.5), 0, 2)


def test_a_row_moves_the_column_of_its_fold_alone() -> None:
    assert pooled([0, 4, 5, 6]).moves[[0, 4]].tolist() == [
        [pytest.approx(-2 * 0.5 / 8), 0.0],
        [0.0, pytest.approx(-2 * 0.5 / 8)],
    ]


def test_the_error_counts_rows_and_what_folds_differ_beyond_rows() -> None:
    ours, other = pooled([]), pooled([4, 5, 6, 7])  # the first is right everywhere, the second in fold 0 alone
    # The differences of the folds are 0 and 1: variance 0.5. Rows explain 8 (1/2)^2 / 8^2 N = 0.0625.
    assert folds.variance(ours, other) == pytest.approx((0.03125, 0.4375 * (1 / 2 + 1 / 1)))
    found = difference(ours, other)
    assert found.mean == pytest.approx(0.5)
    assert found.error == pytest.approx(math.sqrt(0.03125 + 0.4375 * (1 / 2 + 1 / 1)))
    assert found.seeds == (0, 0)


def test_where_folds_differ_less_than_rows_explain_a_share_of_the_rows_variance_counts() -> None:
    ours, other = pooled([]), pooled([0, 1, 4, 5])
    assert folds.variance(ours, other) == pytest.approx((0.03125, 0.03125 / (2 - 1)))
    assert difference(ours, other).error == pytest.approx(math.sqrt(2 * 0.03125))


def test_of_a_split_that_all_seeds_predict_a_column_is_the_mean_over_a_folds_seeds() -> None:
    scores = np.array([0.7, 0.6, 0.9, 0.8])
    side = Side(scores, np.tile([[0.1], [-0.1]], 4), rows=2, clusters=2)
    by_fold = folds.of_seeds(side, [0, 1, 0, 1], 2)
    assert by_fold.scores.tolist() == pytest.approx([0.8, 0.7])
    assert by_fold.moves.tolist() == [[pytest.approx(0.1)] * 2, [pytest.approx(-0.1)] * 2]


def test_rows_that_all_models_predict_count_once_and_folds_by_their_scores() -> None:
    moves = np.tile([[0.02], [-0.02]] * 3, 2)
    side = Side(np.array([0.7, 0.6]), moves, rows=6, clusters=6, has_seeds=False, folds=2)
    assert folds.variance(side, side.constant(0.0)) == pytest.approx((6 * 0.02**2, 0.005 * 1.5))


def test_the_mean_of_a_task_with_folds_and_one_without_has_both_parts() -> None:
    with_folds = pooled([0, 4, 5, 6])
    moves = np.tile([[0.02], [-0.02]] * 3, 2)
    other = Side(np.array([0.7, 0.6]), moves, rows=6, clusters=6, has_seeds=False, folds=2)
    both = mean_of([with_folds, other])
    assert both.scores.tolist() == pytest.approx([0.725, 0.425])
    rows = (8 * (0.5 / 8) ** 2 + 6 * 0.02**2) / 4
    assert folds.variance(both, both.constant(0.0))[0] == pytest.approx(rows)


def test_more_seeds_shrink_nothing_so_that_rows_decide() -> None:
    found = score(pooled([0, 4, 5, 6]), (0.0, 1.0))
    assert found.error is not None
    assert found.row_variance == pytest.approx(found.error**2)
    assert not found.lacks_seeds(6)


def test_a_baseline_of_one_column_is_alike_in_all_folds() -> None:
    ours = pooled([0, 4, 5, 6])
    assert difference(ours, ours.constant(0.25)) == difference(ours, replace(ours.constant(0.25), folds=0))
