"""Scores over a whole set."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score as sklearn_f1

from mtbert import metrics
from mtbert.errors import DataError


def test_accuracy_is_the_share_that_is_right():
    assert metrics.accuracy([0, 1, 2, 4], [0, 1, 3, 4]) == 0.75


def scipys(gold: np.ndarray, guess: np.ndarray) -> float:
    result: Any = stats.pearsonr(gold, guess)
    return float(result.statistic)


def test_pearson_is_scipys_over_the_whole_set_and_no_mean_over_batches():
    generator = np.random.default_rng(0)
    gold = np.sort(generator.uniform(0, 5, 64))  # sorted, so that a batch spans little of the range
    guess = gold + generator.normal(0, 2, 64)
    whole = scipys(gold, guess)
    batches = [scipys(gold[at : at + 8], guess[at : at + 8]) for at in range(0, 64, 8)]
    assert abs(np.mean(batches) - whole) > 0.1
    assert metrics.pearson(gold.tolist(), guess.tolist()) == pytest.approx(whole, abs=1e-12)


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
        ([1, 2], [1], "as many predictions as labels, at least one: 1 and 2"),
        ([1, float("nan")], [1, 2], "NaN or infinite"),
        ([1, 2], [1, float("inf")], "NaN or infinite"),
    ],
)
def test_what_cannot_be_scored_is_refused(score, labels: list[float], predictions: list[float], message: str):
    with pytest.raises(DataError, match=message):
        score(labels, predictions)


@pytest.mark.parametrize(
    ("scores", "raw", "normalised"),
    [
        ((0.509, 0.883, 0.884), 0.759, 0.778),  # "Pals for PALs", table 1, Original PALs; printed 0.759
        ((0.389, 0.697, 0.456), 0.514, 0.605),  # the same, Frozen BERT; printed 0.514
        ((0.516, 0.862, 0.866), 0.748, 0.770),  # "My PAL BERT", table 3, BP1; printed 0.770
        ((0.474, 0.724, 0.029), 0.409, 0.571),  # "SlapBERT", table 4, MNRL; printed 0.571
    ],
)
def test_overall_on_both_scales_as_the_papers_print_it(
    scores: tuple[float, float, float], raw: float, normalised: float
):
    overall = metrics.overall(dict(zip(("sst", "qqp", "sts"), scores, strict=True)))
    assert {name: round(value, 3) for name, value in overall.items()} == {
        "overall_raw": raw,
        "overall_normalised": normalised,
    }


def test_overall_does_not_go_by_the_order_or_by_other_tasks():
    overall = metrics.overall({"cfimdb": 0.9, "sts": 0.0, "qqp": 0.6, "sst": 0.3})
    assert overall == {"overall_raw": pytest.approx(0.3), "overall_normalised": pytest.approx(1.4 / 3)}


@pytest.mark.parametrize("missing", ["sst", "qqp", "sts"])
def test_no_overall_where_a_task_is_missing(missing: str):
    assert metrics.overall({task: 0.5 for task in ("sst", "qqp", "sts") if task != missing}) == {}
