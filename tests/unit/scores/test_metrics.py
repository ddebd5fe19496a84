"""Scores over a whole set."""

from dataclasses import replace

import pytest

from mtbert.errors import DataError
from mtbert.scores import metrics
from mtbert.tasks import COURSE, METRIC_NAMES, Metric


@pytest.mark.parametrize(
    ("score", "labels", "predictions", "expected"),
    [
        (metrics.accuracy, [0, 1, 2, 4], [0, 1, 3, 4], 0.75),
        # deviations (-1, 0, 1) and (-2/3, -2/3, 4/3): 2 / sqrt(2 * 24/9)
        (metrics.pearson, [1, 2, 3], [0, 0, 2], 3**0.5 / 2),
        (metrics.pearson, [1, 2, 3], [2, 2, 2], 0),  # of a constant
        (metrics.pearson, [2, 2], [1, 3], 0),
        (metrics.pearson, [1], [1], 0),
        # ranks 1, 2.5, 2.5, 4, 5 and 1, 3.5, 2, 3.5, 5
        (metrics.spearman, [1, 2, 2, 3, 5], [0.1, 0.3, 0.2, 0.3, 9], 8.75 / 9.5),
        (metrics.spearman, [1, 1], [1, 2], 0),
        # two classes: (2 * 1 - 1 * 1) / sqrt(3 * 2 * 3 * 2)
        (metrics.mcc, [0, 0, 1, 1, 1], [1, 0, 1, 1, 0], 1 / 6),
        (metrics.mcc, [0, 1, 2], [1, 2, 0], -0.5),  # each class is wrong
        (metrics.mcc, [0, 1, 2], [1, 1, 1], 0),  # of a constant
    ],
)
def test_scores_by_hand(score, labels: list[float], predictions: list[float], expected: float):
    assert score(labels, predictions) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "classes", "expected"),
    [
        ("f1", 2, "F1 of spam"),
        ("f1", 3, "F1"),  # the mean over classes
        ("macro_f1", 2, "macro-F1"),
        ("accuracy", 2, "accuracy"),
    ],
)
def test_f1_of_one_class_is_called_by_it(metric: Metric, classes: int, expected: str):
    names = ("ham", "spam", "news")[:classes]
    task = replace(COURSE["qqp"], metric=metric, classes=classes, names=names)
    assert metrics.in_words(task) == expected


@pytest.mark.parametrize(
    ("metric", "classes", "labels", "predictions", "expected"),
    [
        ("f1", 2, [0, 0, 1, 1, 1], [1, 0, 1, 1, 0], 2 / 3),  # of class 1: precision 2/3, recall 2/3
        ("f1", 2, [0, 0], [0, 0], 0),  # no 1 anywhere
        ("f1", 3, [0, 1, 2, 2], [0, 2, 2, 1], (1 + 0 + 1 / 2) / 3),
        ("f1", 3, [0, 0, 1], [0, 1, 1], (2 / 3 + 2 / 3) / 2),  # no 2 anywhere: it does not count
        ("f1", 4, [0, 1, 2, 2], [0, 1, 2, 2], 1),  # all right, though dev lacks class 3
        ("f1", 3, [0, 0, 1], [0, 2, 1], (2 / 3 + 1 + 0) / 3),  # a class that is only predicted
        ("macro_f1", 2, [0, 0, 1, 1, 1], [1, 0, 1, 1, 0], (1 / 2 + 2 / 3) / 2),
        ("macro_f1", 2, [0, 0], [0, 0], 1),
    ],
)
def test_the_number_of_a_tasks_classes_decides_what_f1_is(
    metric: Metric, classes: int, labels: list[float], predictions: list[float], expected: float
):
    task = replace(COURSE["sst"], classes=classes, metric=metric)
    assert metrics.task_score(task, labels, predictions) == pytest.approx(expected)


@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize(
    ("labels", "predictions", "message"),
    [
        ([], [], "at least one: 0 and 0"),
        ([1, 2], [1], "at least one: 1 and 2"),
        ([1, 2], [1, float("inf")], "infinite"),
    ],
)
def test_what_cannot_be_scored_is_refused(metric: str, labels: list[float], predictions: list[float], message: str):
    with pytest.raises(DataError, match=message):
        metrics.score(metric, labels, predictions, [0, 1])


def test_always_predicting_the_most_frequent_class_the_first_of_equal_ones():
    assert metrics.of_majority(COURSE["sst"], [1, 4, 4, 0, 0], [1, 1, 2, 1]) == 0.75


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
    overall = metrics.overall(dict(zip(("sst", "qqp", "sts"), scores, strict=True)), COURSE)
    assert [round(value, 3) for value in overall.values()] == [raw, normalised]


def test_the_mean_is_over_the_tasks_of_the_folder_whose_signed_scores_are_halved_and_moved():
    desk = {"topic": COURSE["sst"], "cola": replace(COURSE["qqp"], metric="mcc"), "rest": COURSE["cfimdb"]}
    assert metrics.overall({"topic": 0.5, "cola": 0.0}, desk) == {"overall_raw": 0.25, "overall_normalised": 0.5}
    assert metrics.overall({"topic": 0.5}, desk) == {}
