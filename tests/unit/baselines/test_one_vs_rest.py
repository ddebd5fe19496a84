"""A regression for each of several labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from mtbert.baselines import linear, one_vs_rest
from mtbert.scores import sets, thresholds
from mtbert.tasks import Task

MOODS = Task("moods", 3, ("text",), "moods", "micro_f1", several=True)


def rows(count: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Features that say labels, with noise; the third label is rare."""
    random = np.random.default_rng(3)
    members = random.random((count, 3)) < [0.5, 0.3, 0.05]
    return (random.normal(size=(count, 3)) + 1.5 * members).astype(np.float32), sets.numbers_of(members)


def test_probabilities_are_those_of_scikit_learns_one_vs_rest() -> None:
    matrix, labels = rows()
    result = one_vs_rest.fit(MOODS, csr_array(matrix), labels, np.arange(90))
    assert result.penalty is not None
    by_hand = OneVsRestClassifier(LogisticRegression(C=1 / result.penalty, tol=1e-4, max_iter=100))
    by_hand.fit(matrix, sets.members_of(labels, 3).astype(int))
    assert result.model.probabilities(matrix, 3) == pytest.approx(by_hand.predict_proba(matrix), abs=1e-3)


def test_thresholds_are_those_of_rows_that_models_of_other_folds_predict() -> None:
    matrix, labels = rows()
    members, cluster = sets.members_of(labels, 3), np.arange(90)
    result = one_vs_rest.fit(MOODS, matrix, labels, cluster)
    fold = linear.folds(MOODS, labels, cluster)
    assert fold is not None
    assert result.penalty is not None
    held_out = np.zeros((90, 3))
    for number in range(3):
        other = fold != number
        model = OneVsRestClassifier(LogisticRegression(C=1 / result.penalty, tol=1e-4, max_iter=100))
        model.fit(matrix[other], members[other].astype(int))
        held_out[~other] = model.predict_proba(matrix[~other])
    least = thresholds.choose(members, held_out)
    assert result.model.thresholds == pytest.approx(least, abs=1e-3)
    assert result.scores[result.penalty] == pytest.approx(f1_score(members, held_out >= least, average="micro"))


def test_a_label_that_all_rows_have_or_none_has_no_coefficients() -> None:
    matrix, _ = rows(40)
    members = np.column_stack([np.ones(40, bool), np.arange(40) % 2 == 0, np.zeros(40, bool)])
    model = one_vs_rest.fit(MOODS, matrix, sets.numbers_of(members), np.arange(40)).model
    assert not model.coefficients[[0, 2]].any()
    predicted = model.probabilities(matrix, 3) >= model.thresholds
    assert predicted[:, 0].all()
    assert not predicted[:, 2].any()


def test_without_features_the_most_frequent_label_alone_is_predicted() -> None:
    model = one_vs_rest.fit(MOODS, np.zeros((4, 0)), np.array([2.0, 3.0, 6.0, 0.0]), np.arange(4)).model
    probabilities = model.probabilities(np.zeros((1, 0)), 3)
    assert probabilities[0] == pytest.approx([0.25, 0.75, 0.25])
    assert sets.numbers_of(probabilities >= model.thresholds).tolist() == [2.0]


def test_too_few_rows_for_folds_have_thresholds_of_a_half() -> None:
    matrix, labels = rows(6)
    result = one_vs_rest.fit(MOODS, matrix, labels, np.zeros(6, int))
    assert (result.penalty, result.scores) == (linear.DEFAULT, {})
    assert result.model.thresholds is not None
    assert result.model.thresholds.tolist() == [0.5] * 3
