"""What more labels would bring: dev scores on parts of train, and what twice as many rows are expected to add.

What it does: trains a baseline on an eighth, a quarter, half and all of train. Parts are whole clusters of rows that
share a sentence, each part within the next one, and are drawn by each of SEEDS.

Formula: log(1 - score) = a - c log2(rows), by least squares, each size weighted by the inverse of its variance. Twice
as many rows are expected to add (1 - exp(-c)) exp(a - c log2(rows)).

The interval is for what would be measured on the same rows of dev. It holds the noise of the fit (samples of dev's
clusters, and of seeds), and that of two further trainings, taken from those on half and on all of train. A trained
model has several seeds of all of train, too: `trained`.

Source: Hestness et al. (2017), "Deep Learning Scaling is Predictable, Empirically", for the power law.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mtbert import seeding
from mtbert.baselines import TECHNIQUES, run
from mtbert.baselines.base import Embed
from mtbert.baselines.rows import Rows
from mtbert.data import parts
from mtbert.scores import metrics
from mtbert.stats import LEVEL, Estimate, Side, influence, score
from mtbert.tasks import Task

SHARES = (0.125, 0.25, 0.5, 1.0)
SEEDS = (1, 2, 3)  # of each share but all
LEAST = 20  # rows of the smallest part
MOST_OF_NEXT = 0.75  # of the rows of the next part, which have to be more: one large cluster may fill two parts
LEAST_POINTS = 3  # for a line and what is left of it
SAMPLES = 4000  # of the bootstrap


@dataclass(frozen=True)
class Point:
    """The dev scores of trainings on one number of rows; `side` has a column for each seed."""

    rows: int
    side: Side


@dataclass(frozen=True)
class Gain:
    """What twice as many rows add to a score, and the interval of it."""

    expected: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether the interval says that the score rises, or falls."""
        return self.low > 0 or self.high < 0


def measure(name: str, task: Task, train: Rows, dev: Rows, embed: Embed) -> list[Point]:
    """Train a baseline on parts of train and score it on dev.

    Returns:
        A point for each part that has LEAST rows, and fewer than the next one.
    """
    clusters, dev_clusters = train.clusters(), dev.clusters()
    points: list[Point] = []
    for share in SHARES:
        predicted: list[np.ndarray] = []
        seeds = SEEDS if share < 1 else SEEDS[:1]
        numbers_by_seed = [parts.nested(clusters, share, seed) for seed in seeds]
        if min(map(len, numbers_by_seed)) < LEAST:
            continue
        for numbers in numbers_by_seed:
            model = run.fit(TECHNIQUES[name], task, train.part(numbers), embed)
            predicted.append(model.predict(dev.columns)["prediction"])
        side = influence.task_side(task, dev.labels, np.stack(predicted, axis=1), dev_clusters)
        points.append(Point(round(float(np.mean([*map(len, numbers_by_seed)]))), side))
    return of_other_sizes(points)


def of_other_sizes(points: Sequence[Point]) -> list[Point]:
    """Return the points, the smallest first, without those that have about as many rows as the next one."""
    parts = [part for part, larger in pairwise(points) if part.rows <= MOST_OF_NEXT * larger.rows]
    return [*parts, *points[-1:]]


def scored(task: Task, point: Point) -> Estimate:
    """Return the mean score of a point with its interval over rows of dev."""
    return score(point.side.as_trained, metrics.bounds(task.metric))


def gain(points: Sequence[Point]) -> Gain | None:
    """Return what twice as many rows as the last point's add.

    None of fewer than three points, and where a point but the last has one seed, which does not tell the noise.
    """
    if len(points) < LEAST_POINTS or not all(map(_is_repeated, points[:-1])):
        return None
    x = np.log2([point.rows for point in points])
    random = seeding.stream(0, "curve", "samples")
    samples, spread = sampled(points, random), _spread(points)
    least = 0.5 / points[0].side.rows  # an error of 0 has no logarithm
    precision = 1 / np.maximum(np.log(np.maximum(1 - samples, least)).var(axis=0), 1e-6)
    observed = np.array([[point.side.mean for point in points]])
    last, half = (point.side.moves.mean(axis=1) for point in (points[-1], points[-2]))
    noise = np.sqrt(2 * spread**2 + float(((last - half) ** 2).sum()))
    gains = _doubled(x, np.maximum(1 - samples, least), precision) + random.normal(0, noise, SAMPLES)
    low, high = np.quantile(gains, [LEVEL / 2, 1 - LEVEL / 2])
    return Gain(float(_doubled(x, np.maximum(1 - observed, least), precision)[0]), float(low), float(high))


def sampled(points: Sequence[Point], random: np.random.Generator) -> np.ndarray:
    """Return scores that other rows of dev and other seeds would give, [SAMPLES, points]."""
    clusters = len(points[0].side.moves)
    weights = random.multinomial(clusters, np.full(clusters, 1 / clusters), SAMPLES) - 1.0
    samples = np.zeros((SAMPLES, len(points)))
    for number, point in enumerate(points):
        scores = point.side.scores + weights @ point.side.moves  # [samples, seeds]
        drawn = random.integers(0, scores.shape[1], scores.shape)
        samples[:, number] = np.take_along_axis(scores, drawn, axis=1).mean(axis=1)
    if not _is_repeated(points[-1]):
        samples[:, -1] += random.normal(0, _spread(points), SAMPLES)
    return samples


def _spread(points: Sequence[Point]) -> float:
    """Return by how much the seeds of the largest repeated part differ, as a standard deviation."""
    return float([point for point in points if _is_repeated(point)][-1].side.scores.std(ddof=1))


def _is_repeated(point: Point) -> bool:
    """Return whether a point has several seeds, so that their noise is known."""
    return len(point.side.scores) > 1


def _doubled(x: np.ndarray, errors: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return by how much twice the rows lower each row of errors [samples, points]: [samples]."""
    centre = (precision * x).sum() / precision.sum()
    logs = np.log(errors)
    slope = (precision * (x - centre) * logs).sum(axis=1) / (precision * (x - centre) ** 2).sum()
    at_centre = (precision * logs).sum(axis=1) / precision.sum()
    return np.exp(at_centre + slope * (x[-1] - centre)) * (1 - np.exp(slope))
