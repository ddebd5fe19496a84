"""Train logistic regression, or ridge regression for scores, on features; cross-validation chooses the penalty.

scikit-learn trains it. What is kept are coefficients and intercepts in fp32, from which all predictions are computed.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold

from mtbert import seeding
from mtbert.baselines.base import Matrix
from mtbert.errors import TrainingError
from mtbert.scores import metrics
from mtbert.tasks import Task

PENALTIES = (10.0, 1.0, 0.1, 0.01)  # of the squared coefficients, beside the sum of the rows' losses; strongest first
DEFAULT = 0.1  # where train is too small for cross-validation
FOLDS = 3
# Products of a feature and a coefficient. A step of training needs one for each feature of a row that is not 0, and
# each class. One core does 3e8 a second of sparse features, and DENSE times as many of dense ones.
MOST_TO_CHOOSE = 3e7  # in a step of cross-validation, which draws as many rows
MOST_TO_TRAIN = 1.5e10  # in all steps of a training
DENSE = 8
ROWS_TO_CHOOSE = (1_000, 20_000)  # fewest and most rows that cross-validation draws
STEPS = (20, 100)  # fewest and most steps of a training
PRECISION = 1e-4  # of the gradient at which a training ends
BLOCK = 10_000  # rows that are predicted at once


@dataclass(frozen=True)
class Linear:
    """A regression.

    Attributes:
        coefficients: fp32 [outputs, features].
        intercepts: fp32 [outputs].
        classes: those of train, ascending: as many as outputs, or two for a single output; none for scores.
        thresholds: of sets of labels, the least probability at which a row has each label, fp32 [labels]; else None.
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    classes: tuple[int, ...]
    thresholds: np.ndarray | None = None

    def outputs(self, matrix: Matrix) -> np.ndarray:
        """Return scores, or logits, of rows: [rows, outputs], computed in fp64."""
        weights, intercepts = self.coefficients.T.astype(np.float64), self.intercepts.astype(np.float64)
        starts = range(0, matrix.shape[0], BLOCK)
        blocks = [matrix[start : start + BLOCK].astype(np.float64) @ weights + intercepts for start in starts]
        return np.concatenate([np.zeros((0, len(intercepts))), *blocks])

    def probabilities(self, matrix: Matrix, count: int) -> np.ndarray:
        """Return the probability of each of so many classes: [rows, count]; 0 for classes that train lacks."""
        outputs = self.outputs(matrix)
        if self.thresholds is not None:
            return expit(outputs)
        of_classes = softmax(outputs, axis=1)
        if len(self.classes) > outputs.shape[1]:
            of_classes = np.hstack([expit(-outputs), expit(outputs)])
        probabilities = np.zeros((len(outputs), count))
        probabilities[:, [*self.classes]] = of_classes
        return probabilities

    def predict(self, matrix: Matrix, task: Task) -> np.ndarray:
        """Return the most probable class, of equal ones the first, or the score within its range: [rows]."""
        if task.kind == "score":
            return np.clip(self.outputs(matrix)[:, 0], task.lowest, task.highest)
        return self.probabilities(matrix, task.classes).argmax(axis=1).astype(float)


class Fit(NamedTuple):
    """A regression, its penalty, and what cross-validation scored each penalty; nothing where it had no choice."""

    model: Linear
    penalty: float | None
    scores: dict[float, float]


def fit(task: Task, matrix: Matrix, labels: np.ndarray, cluster: np.ndarray) -> Fit:
    """Choose a penalty on these rows alone, and train with it on all of them.

    Args:
        task: what is predicted, by whose metric the penalty is chosen.
        matrix: [rows, features].
        labels: [rows].
        cluster: rows [rows] of one number share a sentence, and are on one side of every fold.
    """
    if not matrix.shape[1]:
        return Fit(_without_features(task, labels), None, {})
    scores = _cross_validate(task, matrix, labels, cluster)
    penalty = max(scores, key=scores.__getitem__) if scores else DEFAULT
    return Fit(train(task, matrix, labels, penalty), penalty, scores)


def train(task: Task, matrix: Matrix, labels: np.ndarray, penalty: float) -> Linear:
    """Train with a penalty."""
    if task.kind != "score" and len(np.unique(labels)) < 2:
        return Linear(np.zeros((1, matrix.shape[1]), np.float32), np.zeros(1, np.float32), (int(labels[0]),))
    return _linear(trained(_estimator(task, matrix, labels), matrix, labels, penalty))


def _without_features(task: Task, labels: np.ndarray) -> Linear:
    """Return the regression that has intercepts alone: the mean of the labels, or the share of each class."""
    if task.kind == "score":
        return Linear(np.zeros((1, 0), np.float32), np.array([labels.mean()], np.float32), ())
    classes, counts = np.unique(labels.astype(int), return_counts=True)
    intercepts = np.log(counts / len(labels)).astype(np.float32)
    return Linear(np.zeros((len(classes), 0), np.float32), intercepts, tuple(classes.tolist()))


def _estimator(task: Task, matrix: Matrix, labels: np.ndarray) -> Any:
    """Return scikit-learn's model, whose steps are fewer where a step takes long."""
    if task.kind == "score":
        return Ridge()
    work = _products(matrix, labels) * matrix.shape[0]
    steps = int(np.clip(MOST_TO_TRAIN / max(work, 1), *STEPS))
    return regression(steps, "balanced" if task.balanced else None)


def regression(steps: int, weights: str | None = None) -> Any:
    """Return scikit-learn's logistic regression of so many steps at most, whose trainings go on from the last."""
    return LogisticRegression(tol=PRECISION, max_iter=steps, class_weight=weights, warm_start=True)


def trained(estimator: Any, matrix: Matrix, labels: np.ndarray, penalty: float) -> Any:
    """Train an estimator with a penalty; a logistic regression goes on from its last coefficients."""
    is_ridge = isinstance(estimator, Ridge)
    estimator.set_params(**({"alpha": penalty} if is_ridge else {"C": 1 / penalty}))
    # OpenBLAS's products of few fp32 features may raise the processor's flag for invalid numbers although their results
    # are finite. scikit-learn refuses features that are not.
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is bounded on purpose
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # a row or two of each may do
        estimator.fit(matrix, labels if is_ridge else labels.astype(int))
    if not np.isfinite(estimator.coef_).all():
        raise TrainingError(f"scikit-learn's {estimator} has coefficients that are not finite numbers.")
    return estimator


def _linear(estimator: Any) -> Linear:
    classes = getattr(estimator, "classes_", np.zeros(0, int))
    return Linear(
        coefficients=np.atleast_2d(estimator.coef_).astype(np.float32),
        intercepts=np.atleast_1d(estimator.intercept_).astype(np.float32),
        classes=tuple(classes.tolist()),
    )


def _products(matrix: Matrix, labels: np.ndarray) -> float:
    """Return how many products a row needs in a step, those of dense features counted as 1 / DENSE."""
    features = matrix.nnz / matrix.shape[0] if sparse.issparse(matrix) else matrix.shape[1] / DENSE
    classes = len(np.unique(labels))
    return features * (classes if classes > 2 else 1)


def _cross_validate(task: Task, matrix: Matrix, labels: np.ndarray, cluster: np.ndarray) -> dict[float, float]:
    """Return by penalty the score of all rows, each predicted by a model of the other folds; none of too few rows."""
    rows = _drawn(task, matrix, labels)
    matrix, labels, cluster = matrix[rows], labels[rows], cluster[rows]
    predicted = {penalty: np.zeros(len(rows)) for penalty in PENALTIES}
    fold = folds(task, labels, cluster)
    if fold is None or (task.kind != "score" and len(np.unique(labels)) < 2):
        return {}
    for number in np.unique(fold):
        is_other = fold != number
        known, asked = matrix[is_other], matrix[~is_other]
        several = task.kind == "score" or len(np.unique(labels[is_other])) > 1
        estimator = _estimator(task, known, labels[is_other])
        for penalty, values in predicted.items():
            if several:
                model = _linear(trained(estimator, known, labels[is_other], penalty))
            else:
                model = train(task, known, labels[is_other], penalty)
            values[~is_other] = model.predict(asked, task)
    return {penalty: metrics.task_score(task, labels, values) for penalty, values in predicted.items()}


def _drawn(task: Task, matrix: Matrix, labels: np.ndarray) -> np.ndarray:
    """Return the rows for cross-validation, ascending: all, or as many as a step may take, drawn at random."""
    outputs = labels if task.kind != "score" else labels[:1]
    most = int(np.clip(MOST_TO_CHOOSE / max(_products(matrix, outputs), 1), *ROWS_TO_CHOOSE))
    order = seeding.stream(0, "baselines", "folds").permutation(len(labels))
    return np.sort(order[:most])


def folds(task: Task, labels: np.ndarray, cluster: np.ndarray, most: int = FOLDS) -> np.ndarray | None:
    """Return the fold of each row, [rows], at most so many, whole clusters in each; None of fewer than two clusters.

    Each fold has about as many clusters of a class as any other; the class of a cluster is that of its first row. Sets
    of labels are not counted.
    """
    _, first, of_row = np.unique(cluster, return_index=True, return_inverse=True)
    count = min(most, len(first))
    if count < 2:
        return None
    options: dict[str, Any] = {"n_splits": count, "shuffle": True, "random_state": 0}
    splitter, classes = KFold(**options), labels[first]
    has_classes = task.kind in ("binary", "classes")
    if has_classes and _largest(classes) >= count:
        splitter = StratifiedKFold(**options)
    of_cluster = np.zeros(len(first), int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them alone
        splits = splitter.split(first, classes.astype(int) if has_classes else None)
        for number, (_, held_out) in enumerate(splits):
            of_cluster[held_out] = number
    return of_cluster[of_row]


def _largest(classes: Sequence[float] | np.ndarray) -> int:
    """Return how many rows the most frequent class has."""
    return int(np.unique(classes, return_counts=True)[1].max())
