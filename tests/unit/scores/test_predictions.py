"""Prediction files, and the scores that come from them."""

import pandas as pd
import pytest

from mtbert.scores import predictions
from mtbert.tasks import COURSE

QQP, STS = COURSE["qqp"], COURSE["sts"]


def qqp(labels: list[float | None]) -> pd.DataFrame:
    """Three rows, predicted as yes, no and yes."""
    return pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "label": pd.Series(labels, dtype="float64"),
            "prediction": [1.0, 0.0, 1.0],
            "probability_0": [0.1, 0.8, 0.4],
            "probability_1": [0.9, 0.2, 0.6],
            "scored": [True, True, True],
        }
    )


def test_a_score_is_the_tasks_metric():
    assert predictions.score(qqp([1, 0, 0]), QQP) == pytest.approx(2 / 3)
    scores = pd.DataFrame({"id": ["a", "b", "c"], "label": [1.0, 2.0, 3.0], "prediction": [0.0, 0.0, 2.0]})
    assert predictions.score(scores.assign(scored=True), STS) == pytest.approx(0.8660254)


def test_rows_that_do_not_count_are_left_out():
    assert predictions.score(qqp([1, 0, 0]).assign(scored=[True, True, False]), QQP) == 1.0
    assert predictions.score(qqp([None, 0, 0]).assign(scored=[False, True, True]), QQP) == 0.5


def test_withheld_labels_have_no_score():
    assert predictions.score(qqp([None, None, None]), QQP) is None


def test_scores_of_the_three_main_tasks_have_both_overalls():
    sts = pd.DataFrame({"label": [0.0, 1.0], "prediction": [0.0, 2.0], "scored": True})
    found = predictions.scores({"sst": qqp([1, 1, 1]), "qqp": qqp([1, 0, 0]), "sts": sts}, COURSE)
    expected = {"sst": 2 / 3, "qqp": 2 / 3, "sts": 1.0, "overall_raw": 7 / 9, "overall_normalised": 7 / 9}
    assert found == pytest.approx(expected)
    assert predictions.scores({"qqp": qqp([1, 0, 0]), "sts": sts}, COURSE) == pytest.approx({"qqp": 2 / 3, "sts": 1.0})
