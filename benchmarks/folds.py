"""How often the interval of a difference of folds misses, of real small trainings; benchmarks/README.md sums it up.

`python benchmarks/folds.py 1500` draws as many samples of rows for each line. Two ways to train a linear classifier are
each trained in 5 folds. Their true difference is the mean over all samples of the same models' difference on rows that
are in no sample. The interval of the pooled predictions should miss it in 5 % of the samples.

Four formulas are compared: `rows` counts rows alone, `folds` is the paired t of the folds' differences, `corrected` is
Nadeau and Bengio's (2003), and `ours` is that of `mtbert.stats.folds`.
"""

import functools
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from mtbert.scores import metrics
from mtbert.stats import Side, difference, folds, influence, mean_of

FOLDS = 5
ROWS = (100, 300)
METRICS = ("accuracy", "macro_f1")
TASKS = 3  # independent samples whose mean is a line of its own
WIDTH = 20  # features of made-up rows
TEST = 500  # rows that are in no sample
SLOWER = 5  # a fifth of the samples for logistic regressions
FORMULAS = ("rows", "folds", "corrected", "ours")


class Rows(NamedTuple):
    """Features [rows, width] and classes [rows]."""

    features: np.ndarray
    labels: np.ndarray

    def part(self, numbers: np.ndarray) -> "Rows":
        """Return some rows."""
        return Rows(self.features[numbers], self.labels[numbers])


def made_up(count: int, draw: np.random.Generator) -> Rows:
    """Draw rows of three classes, each Gaussian, whose means are as far apart in the first features as in the last."""
    labels = draw.integers(0, 3, count)
    means = np.zeros((3, WIDTH))
    for label in range(3):
        means[label, label::3] = 0.45
    means[:, WIDTH // 2 :] = means[:, : WIDTH // 2]
    return Rows(means[labels] + draw.normal(size=(count, WIDTH)), labels)


def digits(count: int, draw: np.random.Generator) -> Rows:
    """Draw rows of scikit-learn's digits, the first four classes alone."""
    every = _digits()
    return every.part(draw.permutation(len(every.labels))[:count])


@functools.cache
def _digits() -> Rows:
    every: Any = load_digits(n_class=4)
    return Rows(every.data / 16, every.target)


@dataclass(frozen=True)
class Way:
    """A way to train a classifier.

    Attributes:
        features: the share of features that it sees, from the first (above 0) or the last (below 0).
        is_random: whether each training draws its features, as a seed would.
        penalty: of the squared coefficients.
        is_logistic: whether it is a logistic regression; else least squares on the classes as 0 and 1, which is quick.
    """

    features: float = 1.0
    is_random: bool = False
    penalty: float = 1.0
    is_logistic: bool = False

    def train(self, train: Rows, draw: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """Train, and return what predicts classes of features."""
        width = train.features.shape[1]
        order = draw.permutation(width) if self.is_random else np.arange(width)[:: 1 if self.features > 0 else -1]
        seen = order[: round(abs(self.features) * width)]
        if self.is_logistic:
            model = LogisticRegression(C=1 / self.penalty, max_iter=60, tol=1e-3)
            model.fit(train.features[:, seen], train.labels)
            return lambda features: np.asarray(model.predict(features[:, seen]))
        inputs = np.column_stack([train.features[:, seen], np.ones(len(train.labels))])
        targets = np.eye(train.labels.max() + 1)[train.labels]
        coefficients = np.linalg.solve(inputs.T @ inputs + self.penalty * np.eye(len(seen) + 1), inputs.T @ targets)
        return lambda features: (features[:, seen] @ coefficients[:-1] + coefficients[-1]).argmax(axis=1)


class Case(NamedTuple):
    """Two ways on rows of one kind."""

    name: str
    make: Callable[[int, np.random.Generator], Rows]
    most_rows: int
    ours: Way
    other: Way


CASES = (
    Case("made up, equal, no seeds", made_up, 300, Way(0.5), Way(-0.5)),
    Case("made up, equal, seeds", made_up, 300, Way(0.4, is_random=True), Way(0.4, is_random=True)),
    Case("made up, different, no seeds", made_up, 300, Way(), Way(0.6)),
    Case("made up, different, one with seeds", made_up, 300, Way(penalty=100), Way(0.6, is_random=True)),
    Case("digits, equal, seeds", digits, 100, Way(0.1, is_random=True), Way(0.1, is_random=True)),
    Case("digits, different, no seeds", digits, 100, Way(penalty=100), Way(0.3)),
    Case("digits, logistic", digits, 100, Way(0.2, True, is_logistic=True), Way(0.1, True, is_logistic=True)),
)


class Measured(NamedTuple):
    """What one sample says: both sides, and the difference on rows that are in no sample."""

    ours: Side
    other: Side
    truth: float


def measured(case: Case, count: int, draw: np.random.Generator) -> dict[str, Measured]:
    """Train both ways in folds on a new sample of so many rows; return what it says by metric."""
    every = case.make(count + TEST, draw)
    sample, test = every.part(np.arange(count)), every.part(np.arange(count, len(every.labels)))
    fold_of_row = np.arange(count) % FOLDS
    ours, other = (trained(way, sample, test, fold_of_row, draw) for way in (case.ours, case.other))
    by_metric: dict[str, Measured] = {}
    for metric in METRICS:
        sides = [_side(metric, sample.labels, way.pooled, fold_of_row) for way in (ours, other)]
        on_test = [_on_test(metric, test.labels, way.on_test) for way in (ours, other)]
        by_metric[metric] = Measured(sides[0], sides[1], on_test[0] - on_test[1])
    return by_metric


class Trained(NamedTuple):
    """What the models of a way predict: of the sample, [rows], and of rows in no sample, [folds][rows]."""

    pooled: np.ndarray
    on_test: list[np.ndarray]


def trained(way: Way, sample: Rows, test: Rows, fold_of_row: np.ndarray, draw: np.random.Generator) -> Trained:
    """Train a way once for each fold, on the rows of the others."""
    pooled, on_test = np.zeros(len(sample.labels)), list[np.ndarray]()
    for fold in range(FOLDS):
        is_inside = fold_of_row == fold
        predict = way.train(sample.part(np.flatnonzero(~is_inside)), draw)
        pooled[is_inside] = predict(sample.features[is_inside])
        on_test.append(predict(test.features))
    return Trained(pooled, on_test)


def _side(metric: str, labels: np.ndarray, pooled: np.ndarray, fold_of_row: np.ndarray) -> Side:
    side = influence.scored(metric, labels, pooled[:, None], np.arange(len(labels)), _classes(labels))
    return folds.of_pooled(side, fold_of_row, FOLDS)


def _on_test(metric: str, labels: np.ndarray, predicted: Sequence[np.ndarray]) -> float:
    """Return the mean score of the folds' models."""
    return float(np.mean([metrics.score(metric, labels, of_fold, _classes(labels)) for of_fold in predicted]))


def _classes(labels: np.ndarray) -> range:
    return range(int(labels.max()) + 1)


def half_widths(ours: Side, other: Side) -> list[float]:
    """Return half the width of the 95 % interval by each of FORMULAS."""
    of_rows, _ = folds.variance(ours, other)
    of_folds = float((ours.scores - other.scores).var(ddof=1))
    low, high = difference(ours, other).interval or (0.0, 0.0)
    clusters = len(ours.moves)
    return [
        _quantile(clusters - 1) * of_rows**0.5,
        _quantile(FOLDS - 1) * (of_folds / FOLDS) ** 0.5,
        _quantile(FOLDS - 1) * (of_folds * (1 / FOLDS + 1 / (FOLDS - 1))) ** 0.5,
        (high - low) / 2,
    ]


def _quantile(freedom: float) -> float:
    return float(special.stdtrit(freedom, 0.975))


def line(name: str, rows: int, metric: str, samples: Sequence[Measured]) -> str:
    """Return a line of the table: how often each interval misses in per cent, and its mean half width."""
    truth = float(np.mean([sample.truth for sample in samples]))
    off = np.array([sample.ours.mean - sample.other.mean - truth for sample in samples])
    widths = np.array([half_widths(sample.ours, sample.other) for sample in samples])  # [samples, formulas]
    missed = (np.abs(off)[:, None] > widths).mean(axis=0)
    shares = " | ".join(
        f"{100 * share:.1f} (±{width:.3f})" for share, width in zip(missed, widths.mean(0), strict=True)
    )
    return f"| {name} | {rows} | {metric} | {truth:+.3f} | {shares} |"


def lines(samples: int) -> Iterator[str]:
    """Yield the lines of the table, as Markdown."""
    yield f"| ways | rows | metric | true difference | {' | '.join(FORMULAS)} |"
    yield f"|:---|---:|:---|---:|{'---:|' * len(FORMULAS)}"
    for number, (case, rows) in enumerate(itertools.product(CASES, ROWS)):
        if rows <= case.most_rows:
            draw = np.random.default_rng(number)
            count = samples // SLOWER if case.ours.is_logistic else samples
            every = [measured(case, rows, draw) for _ in range(count)]
            for metric in METRICS:
                of_metric = [sample[metric] for sample in every]
                yield line(case.name, rows, metric, of_metric)
                yield line(f"{case.name}, mean of {TASKS} tasks", rows, metric, [*_means(of_metric)])


def _means(samples: Sequence[Measured]) -> Iterator[Measured]:
    """Yield the mean over tasks of so many samples each."""
    for start in range(0, len(samples) - TASKS + 1, TASKS):
        of_tasks = samples[start : start + TASKS]
        truth = float(np.mean([sample.truth for sample in of_tasks]))
        yield Measured(mean_of([one.ours for one in of_tasks]), mean_of([one.other for one in of_tasks]), truth)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # regressions that stop at their last iteration
    for text in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
        print(text, flush=True)
