"""Which labels are doubtful: literal predictions of few rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mtbert.baselines.rows import Rows
from mtbert.labelling import doubtful
from mtbert.tasks import Task

TOPIC = Task("topic", 3, ("text",), "topic", "accuracy", labels={"bug": 0, "praise": 1, "query": 2})
SAME = Task("same", 1, ("a", "b"), "same", "pearson", highest=5.0)
MOODS = Task("moods", 3, ("text",), "moods", "micro_f1", labels={"joy": 0, "anger": 1, "fear": 2}, several=True)
LABELS = np.array([0.0, 1.0, 2.0, 0.0])
TRAINED_ON = [np.nan] * 3


def test_the_label_that_is_least_probable_comes_first():
    outputs = np.array([[0.6, 0.3, 0.1], [0.5, 0.25, 0.25], [0.7, 0.2, 0.1], [0.3, 0.4, 0.3]])
    doubts = doubtful.ranked(TOPIC, LABELS, [outputs])
    assert doubts.index.tolist() == [2, 1, 3]  # row 0 is predicted as its label
    assert doubts["doubt"].round(3).tolist() == [0.9, 0.75, 0.7]
    assert doubts["predicted"].tolist() == [0.0, 0.0, 1.0]
    assert doubts["probability"].tolist() == [0.7, 0.5, 0.4]
    assert doubts["probability_of_label"].tolist() == [0.1, 0.25, 0.3]


def test_models_are_averaged_over_the_rows_that_each_predicts():
    first = np.array([[0.1, 0.9, 0.0], [0.6, 0.4, 0.0], TRAINED_ON, TRAINED_ON])
    second = np.array([TRAINED_ON, [0.2, 0.8, 0.0], TRAINED_ON, TRAINED_ON])
    doubts = doubtful.ranked(TOPIC, LABELS, [first, second])
    assert doubts.index.tolist() == [0]  # of row 1 the mean is its label; no model predicts rows 2 and 3
    assert doubts[["agree", "models"]].to_numpy().tolist() == [[1, 1]]
    third = np.array([TRAINED_ON, [1.0, 0.0, 0.0], TRAINED_ON, TRAINED_ON])
    doubts = doubtful.ranked(TOPIC, LABELS, [first, second, third])
    assert doubts.loc[1, ["agree", "models"]].tolist() == [2, 3]


def test_the_score_that_is_farthest_off_comes_first():
    predicted = [np.array([[4.0], [1.0]]), np.array([[2.0], [0.0]])]
    doubts = doubtful.ranked(SAME, np.array([2.5, 4.0]), predicted)
    assert doubts.index.tolist() == [1, 0]
    assert doubts["doubt"].tolist() == [3.5, 0.5]
    assert doubts["agree"].tolist() == [2, 1]  # of row 0 one model is above the label, the other below


def test_of_several_labels_the_least_probable_decision_is_doubted():
    labels = np.array([1.0, 0.0, 6.0, 2.0])  # joy; none; anger and fear; anger
    outputs = np.array([[0.7, 0.2, 0.4], [0.1, 0.9, 0.6], [0.2, 0.3, 0.05], [0.2, 0.5, 0.5]])
    doubts = doubtful.ranked(MOODS, labels, [outputs])
    assert doubts.index.tolist() == [2, 1]  # all decisions on rows 0 and 3 are at least as probable as their contrary
    assert doubts["doubt"].round(3).tolist() == [0.95, 0.9]
    assert doubts["doubtful_label"].tolist() == [2, 1]  # fear, anger
    assert doubts["is_member"].tolist() == [True, False]
    assert doubts["predicted"].tolist() == [0.0, 6.0]  # none; anger and fear
    assert doubts["probability"].round(3).tolist() == [0.95, 0.9]
    assert doubts["probability_of_label"].round(3).tolist() == [0.05, 0.1]


def test_of_several_labels_models_are_asked_about_the_doubtful_one():
    first, second = np.array([[0.1, 0.6, 0.1], TRAINED_ON]), np.array([[0.4, 0.1, 0.9], TRAINED_ON])
    third = np.array([[0.6, 0.1, 0.1], [0.1, 0.1, 0.1]])
    doubts = doubtful.ranked(MOODS, np.array([1.0, 0.0]), [first, second, third])
    assert doubts.index.tolist() == [0]
    assert doubts[["doubtful_label", "agree", "models"]].to_numpy().tolist() == [[0, 2, 3]]


def test_at_most_a_hundred_rows_are_doubtful():
    outputs = np.tile([0.0, 1.0, 0.0], (150, 1))
    assert len(doubtful.ranked(TOPIC, np.zeros(150), [outputs])) == 100


def test_a_row_is_predicted_by_a_model_that_did_not_see_it():
    texts = [f"row {number}" for number in range(20)]
    vectors = {text: np.eye(2)[number % 2] + 0.01 * number for number, text in enumerate(texts)}
    labels = np.arange(20.0) % 2
    labels[4] = 1.0  # a wrong label: its vector is that of class 0
    rows = Rows(texts, [texts], labels)
    task = Task("urgent", 2, ("text",), "urgent", "accuracy")
    opinion = doubtful.of_other_folds(task, rows, lambda asked: np.stack([vectors[text] for text in asked]))
    assert opinion is not None
    assert doubtful.ranked(task, labels, [opinion]).index.tolist() == [4]


def test_several_labels_a_row_are_predicted_by_a_model_that_did_not_see_it():
    texts = [f"row {number}" for number in range(20)]
    vectors = {text: np.eye(2)[number % 2] + 0.01 * number for number, text in enumerate(texts)}
    labels = np.arange(20.0) % 2 * 3  # joy and anger, or none
    labels[4], labels[5] = 1.0, 2.0  # joy is wrong, and joy is missing
    rows = Rows(texts, [texts], labels)
    probabilities = doubtful.of_other_folds(MOODS, rows, lambda asked: np.stack([vectors[text] for text in asked]))
    assert probabilities is not None
    doubts = doubtful.ranked(MOODS, labels, [probabilities])
    assert sorted(doubts.index) == [4, 5]
    assert doubts["doubtful_label"].tolist() == [0, 0]
    assert doubts.loc[[4, 5], "is_member"].tolist() == [True, False]


def test_without_two_clusters_there_are_no_folds():
    rows = Rows(["1", "2"], [["same text", "Same text"]], np.array([0.0, 1.0]))
    assert doubtful.of_other_folds(TOPIC, rows, lambda texts: np.ones((len(texts), 2))) is None


def test_a_line_has_text_labels_and_the_place_in_the_file():
    table = pd.DataFrame({
        "split": ["dev"], "file": ["topic-dev.csv"], "line": [7], "id": ["a"], "label": [0.0],
        "sentence1": ["it works"],
    })  # fmt: skip
    doubts = doubtful.ranked(TOPIC, np.array([0.0]), [np.array([[0.1, 0.9, 0.0]])])
    assert doubtful.listed(TOPIC, table, doubts) == [{
        "text": "it works", "label": "bug", "predicted": "praise", "probability": "0.900",
        "probability_of_label": "0.100", "agree": 1, "models": 1, "split": "dev", "file": "topic-dev.csv", "line": 7,
        "id": "a",
    }]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "shown", "change", "predicted"),
    [(5.0, "joy;fear", "take away", "fear"), (4.0, "fear", "add", "joy;fear")],
)
def test_a_line_of_several_labels_says_which_one_to_change_in_the_words_of_the_file(
    label: float, shown: str, change: str, predicted: str
):
    task = replace(MOODS, separator=";", names=("Joy!", "Anger!", "Fear!"))
    table = pd.DataFrame({
        "split": ["dev"], "file": ["moods-dev.csv"], "line": [7], "id": ["a"], "label": [label],
        "sentence1": ["it works"],
    })  # fmt: skip
    probability = 0.1 if label == 5 else 0.9
    doubts = doubtful.ranked(task, np.array([label]), [np.array([[probability, 0.2, 0.7]])])
    assert doubtful.listed(task, table, doubts) == [{
        "text": "it works", "label": shown, "predicted": predicted, "change": change, "doubtful_label": "joy",
        "probability": "0.900", "probability_of_label": "0.100", "agree": 1, "models": 1, "split": "dev",
        "file": "moods-dev.csv", "line": 7, "id": "a",
    }]  # fmt: skip
