"""Scores over a whole set."""

from typing import Any

import pytest
from scipy import stats
from sklearn.metrics import f1_score as sklearn_f1

from mtbert import metrics
from mtbert.errors import DataError


def test_accuracy_is_the_share_that_is_right():
    assert metrics.accuracy([0, 1, 2, 4], [0, 1, 3, 4]) == 0.75


def test_pearson_by_hand():
    # deviations (-1, 0, 1) and (-2/3, -2/3, 4/3): 2 / sqrt(2 * 24/9) = sqrt(3) / 2
    assert metrics.pearson([1, 2, 3], [0, 0, 2]) == pytest.approx(0.8660254)


@pytest.mark.parametrize(("labels", "predictions"), [([1, 2, 3], [2, 2, 2]), ([2, 2], [1, 3]), ([1], [1])])
def test_pearson_of_a_constant_is_0(labels: list[float], predictions: list[float]):
    assert metrics.pearson(labels, predictions) == 0.0


@pytest.mark.parametrize(
    ("labels", "predictions", "expected"),
    [
        ([0, 0, 1, 1, 1], [1, 0, 1, 1, 0], 2 / 3),  # of class 1: precision 2/3, recall 2/3
        ([0, 0], [0, 0], 0),  # no 1 anywhere
        ([0, 1, 2, 2], [0, 2, 2, 1], (1 + 0 + 1 / 2) / 3),
        ([2, 2], [2, 3], (2 / 3 + 0) / 2),  # a class that is only predicted counts
    ],
)
def test_f1_by_hand_and_as_sklearn_has_it(labels: list[float], predictions: list[float], expected: float):
    average: Any = "binary" if max(labels) <= 1 else "macro"
    assert metrics.f1(labels, predictions) == pytest.approx(expected)
    assert sklearn_f1(labels, predictions, average=average, zero_division=0) == pytest.approx(expected)


def test_spearman_is_scipys_with_ties_too():
    gold, guess = [1, 2, 2, 3, 5], [0.1, 0.3, 0.2, 0.3, 9]
    expected: Any = stats.spearmanr(gold, guess)
    assert metrics.spearman(gold, guess) == pytest.approx(expected.statistic)
    assert metrics.spearman([1, 1], [1, 2]) == 0


@pytest.mark.parametrize("score", metrics.SCORES.values())
@pytest.mark.parametrize(
    ("labels", "predictions", "message"),
    [
        ([], [], "at least one: 0 and 0"),
        ([1, 2], [1], "at least one: 1 and 2"),
        ([1, 2], [1, float("inf")], "infinite"),
    ],
)
def test_what_cannot_be_scored_is_refused(score, labels: list[float], predictions: list[float], message: str):
    with pytest.raises(DataError, match=message):
        score(labels, predictions)


@pytest.mark.parametrize(
    ("scores", "raw", "normalised"),
    [
        ((0.509, 0.883, 0.884), 0.759, 0.778),  # "Pals for PALs", table 1, Original PALs; printed 0.759
        ((0.516, 0.862, 0.866), 0.748, 0.770),  # "My PAL BERT", table 3, BP1; printed 0.770
    ],
)
def test_overall_on_both_scales_as_the_papers_print_it(
    scores: tuple[float, float, float], raw: float, normalised: float
):
    overall = metrics.overall(dict(zip(("sst", "qqp", "sts"), scores, strict=True)))
    assert [round(value, 3) for value in overall.values()] == [raw, normalised]


def test_no_overall_where_a_task_is_missing():
    assert metrics.overall({"sst": 0.5, "qqp": 0.5}) == {}
