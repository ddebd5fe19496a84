"""Train a logistic regression for each of several labels; cross-validation chooses the penalty and the thresholds.

Formula: P(label | x) = sigmoid(w x + b), each label against all rows without it. All labels have one penalty, that of
the best score of rows predicted by models of other folds. On these predictions, too, each label's threshold is chosen
(`mtbert.scores.thresholds`), so that none is fitted to rows that its model has seen.

Shapes: coefficients [labels, features]. A label that all rows of train have, or none has, has coefficients of 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logit

from mtbert import seeding
from mtbert.baselines import linear
from mtbert.baselines.base import Matrix
from mtbert.baselines.linear import Fit, Linear
from mtbert.scores import metrics, sets, thresholds
from mtbert.tasks import Task

EDGE = 1e-6  # of a probability that is 0 or 1 in train


def fit(task: Task, matrix: Matrix, labels: np.ndarray, cluster: np.ndarray) -> Fit:
    """Choose a penalty and thresholds on these rows alone, and train with them on all; arguments as of `linear.fit`."""
    members = sets.members_of(labels, task.classes)
    if not matrix.shape[1]:
        return Fit(_most_frequent(task, members), None, {})
    rows = _drawn(matrix, members)
    trials = _cross_validate(task, matrix[rows], members[rows], cluster[rows])
    penalty, least = linear.DEFAULT, np.full(task.classes, thresholds.HALF, np.float32)
    if trials:
        penalty = max(trials, key=lambda each: trials[each].score)
        least = trials[penalty].thresholds
    model = Linear(*_train(matrix, members, [penalty])[penalty], tuple(range(task.classes)), least)
    return Fit(model, penalty, {penalty: trial.score for penalty, trial in trials.items()})


def train(task: Task, matrix: Matrix, labels: np.ndarray, penalty: float) -> Linear:
    """Train with a penalty; each label's threshold is a half."""
    weights = _train(matrix, sets.members_of(labels, task.classes), [penalty])[penalty]
    return Linear(*weights, tuple(range(task.classes)), np.full(task.classes, thresholds.HALF, np.float32))


def _most_frequent(task: Task, members: np.ndarray) -> Linear:
    """Return the regression without features that predicts the most frequent label, of equal ones the first."""
    shares = np.clip(members.mean(axis=0), EDGE, 1 - EDGE)
    least = np.ones(task.classes, np.float32)
    least[shares.argmax()] = shares.max() / 2
    no_features = np.zeros((task.classes, 0), np.float32)
    return Linear(no_features, logit(shares).astype(np.float32), tuple(range(task.classes)), least)


class _Weights(NamedTuple):
    """Coefficients, fp32 [labels, features], and intercepts, fp32 [labels]."""

    coefficients: np.ndarray
    intercepts: np.ndarray


def _train(matrix: Matrix, members: np.ndarray, penalties: Sequence[float]) -> dict[float, _Weights]:
    """Return the weights by penalty."""
    steps = int(np.clip(linear.MOST_TO_TRAIN / max(_products(matrix, members) * matrix.shape[0], 1), *linear.STEPS))
    shape = members.shape[1], matrix.shape[1]
    weights = {penalty: _Weights(np.zeros(shape, np.float32), np.zeros(shape[0], np.float32)) for penalty in penalties}
    for label, is_member in enumerate(members.T):
        estimator = linear.regression(steps)
        for penalty, of_all in weights.items():
            if is_member.any() and not is_member.all():
                trained = linear.trained(estimator, matrix, is_member, penalty)
                of_all.coefficients[label], of_all.intercepts[label] = trained.coef_[0], trained.intercept_[0]
            else:
                of_all.intercepts[label] = logit(np.clip(is_member[0], EDGE, 1 - EDGE))
    return weights


class _Trial(NamedTuple):
    """What cross-validation finds of a penalty: the best thresholds, fp32 [labels], and the score with them."""

    thresholds: np.ndarray
    score: float


def _cross_validate(task: Task, matrix: Matrix, members: np.ndarray, cluster: np.ndarray) -> dict[float, _Trial]:
    """Return a trial of each penalty, rows predicted by models of the other folds; none without folds."""
    labels = sets.numbers_of(members)
    fold = linear.folds(task, labels, cluster)
    if fold is None:
        return {}
    probabilities = {penalty: np.zeros(members.shape) for penalty in linear.PENALTIES}
    for number in np.unique(fold):
        is_other = fold != number
        for penalty, weights in _train(matrix[is_other], members[is_other], linear.PENALTIES).items():
            model = Linear(*weights, tuple(range(task.classes)), np.zeros(0))
            probabilities[penalty][~is_other] = model.probabilities(matrix[~is_other], task.classes)
    trials: dict[float, _Trial] = {}
    for penalty, values in probabilities.items():
        least = thresholds.choose(members, values)
        trials[penalty] = _Trial(least, metrics.task_score(task, labels, sets.numbers_of(values >= least)))
    return trials


def _products(matrix: Matrix, members: np.ndarray) -> float:
    """Return how many products a row needs in a step of all labels, as `linear` counts them."""
    features = matrix.nnz / matrix.shape[0] if sparse.issparse(matrix) else matrix.shape[1] / linear.DENSE
    return features * members.shape[1]


def _drawn(matrix: Matrix, members: np.ndarray) -> np.ndarray:
    """Return the rows for cross-validation, ascending: all, or as many as a step may take, drawn at random."""
    most = int(np.clip(linear.MOST_TO_CHOOSE / max(_products(matrix, members), 1), *linear.ROWS_TO_CHOOSE))
    order = seeding.stream(0, "baselines", "folds").permutation(len(members))
    return np.sort(order[:most])
