"""The regression of baselines, and how its penalty is chosen."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression, Ridge

from mtbert.baselines import linear
from mtbert.scores import metrics
from mtbert.tasks import Task

TOPIC = Task("topic", 3, ("text",), "topic", "macro_f1")
URGENT = Task("urgent", 2, ("text",), "urgent", "accuracy")
RATING = Task("rating", 1, ("text",), "rating", "pearson", lowest=0.0, highest=5.0)


def rows(task: Task, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Features that say a label, with noise."""
    random = np.random.default_rng(3)
    labels = np.arange(count, dtype=float) % (6 if task.kind == "score" else task.classes)
    return (random.normal(size=(count, 8)) + labels[:, None] * 0.5).astype(np.float32), labels


def alone(count: int) -> np.ndarray:
    """Each row a cluster of its own."""
    return np.arange(count)


@pytest.mark.parametrize("task", [TOPIC, URGENT])
def test_probabilities_are_those_of_scikit_learn(task: Task):
    matrix, labels = rows(task)
    by_hand = LogisticRegression(C=10.0, tol=1e-4, max_iter=100).fit(matrix, labels)
    found = linear.train(task, csr_array(matrix), labels, penalty=0.1)
    assert found.probabilities(matrix, task.classes) == pytest.approx(by_hand.predict_proba(matrix), abs=1e-4)
    assert found.predict(matrix, task).tolist() == by_hand.predict(matrix).tolist()


def test_scores_are_those_of_ridge_regression_cut_to_their_range():
    matrix, labels = rows(RATING)
    by_hand = Ridge(alpha=0.1).fit(matrix, labels).predict(matrix)
    found = linear.train(RATING, matrix, labels, penalty=0.1).predict(matrix, RATING)
    assert found == pytest.approx(np.clip(by_hand, 0, 5), abs=1e-4)
    assert by_hand.min() < 0 == found.min()


def test_the_penalty_is_the_one_whose_models_score_best_on_rows_that_they_did_not_see():
    matrix, labels = rows(TOPIC)
    result = linear.fit(TOPIC, matrix, labels, alone(60))
    fold = linear.folds(TOPIC, labels, alone(60))
    assert fold is not None
    expected = {}
    for penalty in linear.PENALTIES:
        predicted = np.zeros(60)
        for number in range(3):
            model = linear.train(TOPIC, matrix[fold != number], labels[fold != number], penalty)
            predicted[fold == number] = model.predict(matrix[fold == number], TOPIC)
        expected[penalty] = metrics.task_score(TOPIC, labels, predicted)
    assert result.scores == pytest.approx(expected, abs=0.04)  # they went on from the stronger penalty's coefficients
    assert result.penalty == max(result.scores, key=result.scores.__getitem__)


def test_rows_that_share_a_sentence_are_in_one_fold_and_classes_in_all():
    labels = np.repeat([0.0, 1.0, 2.0], 20)
    cluster = np.arange(60) // 2
    fold = linear.folds(TOPIC, labels, cluster)
    assert fold is not None
    assert all(len({*fold[cluster == number]}) == 1 for number in range(30))
    for label in range(3):
        assert sorted(np.bincount(fold[labels == label])) == [6, 6, 8]


def test_train_of_one_cluster_has_no_folds_and_the_default_penalty():
    matrix, labels = rows(TOPIC)
    assert linear.fit(TOPIC, matrix, labels, np.zeros(60, int))[1:] == (linear.DEFAULT, {})


def test_three_rows_a_class_are_enough_and_a_class_of_one_row_is_learnt():
    matrix, labels = np.eye(10, 12, dtype=np.float32), np.array([0.0] * 3 + [1.0] * 3 + [2.0] * 3 + [3.0])
    task = Task("topic", 5, ("text",), "topic", "macro_f1")
    result = linear.fit(task, matrix, labels, alone(10))
    assert len(result.scores) == len(linear.PENALTIES)
    assert result.model.classes == (0, 1, 2, 3)
    probabilities = linear.train(task, matrix, labels, 0.01).probabilities(matrix, 5)
    assert probabilities.argmax(axis=1).tolist() == labels.tolist()
    assert probabilities[:, 4].tolist() == [0.0] * 10  # no row of train has class 4


def test_a_class_per_row_and_a_single_class_are_no_errors():
    matrix, task = np.eye(30, dtype=np.float32), Task("id", 30, ("text",), "id", "accuracy")
    every_class = linear.fit(task, matrix, np.arange(30.0), alone(30))
    assert every_class.model.predict(matrix, task).tolist() == [*range(30)]
    matrix = np.eye(4, dtype=np.float32)
    single = linear.fit(TOPIC, matrix, np.full(4, 2.0), alone(4)).model
    assert single.probabilities(matrix, 3).tolist() == [[0, 0, 1]] * 4


def test_without_features_classes_have_their_share_of_train_and_scores_their_mean():
    nothing = np.zeros((5, 0), np.float32)
    shares = linear.fit(TOPIC, nothing, np.array([0.0, 2, 2, 0, 2]), alone(5)).model
    assert shares.probabilities(nothing[:1], 3) == pytest.approx(np.array([[0.4, 0, 0.6]]), abs=1e-6)
    assert shares.predict(nothing[:1], TOPIC).tolist() == [2]
    tie = linear.fit(TOPIC, nothing, np.array([2.0, 1, 2, 1, 0]), alone(5)).model
    assert tie.predict(nothing[:1], TOPIC).tolist() == [1]
    mean = linear.fit(RATING, nothing, np.array([0.0, 1, 2, 3, 5]), alone(5)).model
    assert mean.predict(nothing[:1], RATING) == pytest.approx([2.2])


def test_a_task_whose_classes_weigh_alike_is_trained_so():
    matrix, labels = rows(URGENT)
    labels[: 25 * 2 : 2] = 1.0
    balanced = Task("urgent", 2, ("text",), "urgent", "accuracy", balanced=True)
    by_hand = LogisticRegression(C=10.0, class_weight="balanced").fit(matrix, labels)
    found = linear.train(balanced, matrix, labels, penalty=0.1)
    assert found.probabilities(matrix, 2) == pytest.approx(by_hand.predict_proba(matrix), abs=1e-4)
