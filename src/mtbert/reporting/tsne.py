"""t-SNE for a few hundred points, quick enough for every variant of a report.

Source: van der Maaten and Hinton (2008), *Visualizing data using t-SNE*; step size by Belkina et al. (2019), start by
Kobak and Berens (2019). Points near one another stay so, distances are not kept: clusters can be read from a picture,
their places and sizes cannot.

Of our own because scikit-learn's loops over the points in Python: for 250 points it took 0.52 s in two dimensions and
0.57 s in three (its quicker method each), this 0.1 s, to a Kullback-Leibler divergence that is not larger (a test
compares them).
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

PERPLEXITY = 30.0  # scikit-learn's own, where there are points enough
ITERATIONS = 250
EXAGGERATED = 100  # iterations with similarities EXAGGERATION times too large, which lets clusters form
EXAGGERATION = 4.0  # as in the paper; the 12 of later works is for many points, and measured worse here
HALVINGS = 25  # of the interval that holds the logarithm of a point's bandwidth: to one in a million
MOST_DIMENSIONS = 3
TINY = 1e-12


def project(points: np.ndarray, dimensions: Sequence[int]) -> list[np.ndarray]:
    """Points [rows, width] to [rows, 2], [rows, 3], ..., float32; the same points always lie at the same places."""
    with threadpool_limits(1):  # several add up in another order, and the steps enlarge the last digit to another place
        wanted = similarities(points)
        return [_descend(wanted, start(points, number)) for number in dimensions]


def _descend(wanted: np.ndarray, places: np.ndarray) -> np.ndarray:
    exaggerated = wanted * EXAGGERATION
    rate = max(len(places) / EXAGGERATION / 4, 50.0)
    speed, gains = np.zeros_like(places), np.ones_like(places)
    for iteration in range(ITERATIONS):
        early = iteration < EXAGGERATED
        slope = gradient(exaggerated if early else wanted, places)
        gains = np.where((slope > 0) == (speed > 0), gains * 0.8, gains + 0.2).clip(0.01)
        speed = (0.5 if early else 0.8) * speed - rate * gains * slope
        places = places + speed
    return places


def start(points: np.ndarray, dimensions: int) -> np.ndarray:
    """The first principal components, scaled to a standard deviation of 1e-4; zeros where there are too few."""
    centred = points - points.mean(axis=0)
    count = min(MOST_DIMENSIONS, *points.shape)  # the same for all, so that a place does not depend on the others
    values, vectors = eigh(centred @ centred.T, subset_by_index=(len(points) - count, len(points) - 1))
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])  # which is free: positive
    components = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :dimensions]
    places = np.zeros((len(points), dimensions), dtype=np.float32)
    places[:, : components.shape[1]] = components / max(float(components[:, 0].std()), TINY) * 1e-4
    return places


def similarities(points: np.ndarray) -> np.ndarray:
    """How alike points are, [rows, rows], symmetric, with sum 1: normal densities of the perplexity that is asked for.

    A point's bandwidth is found by bisection of its logarithm: the wider, the larger the entropy.
    """
    distances = squared_distances(points.astype(np.float32))
    np.fill_diagonal(distances, np.inf)
    distances -= distances.min(axis=1, keepdims=True)  # the nearest at 0, so that no row's densities are all 0
    apart = np.where(np.isinf(distances), 0, distances)
    scale = max(float(apart.mean()), TINY)
    entropy = np.log(min(PERPLEXITY, (len(points) - 1) / 3))
    low, high = np.full(len(points), -20.0), np.full(len(points), 20.0)
    densities = np.zeros_like(distances)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        sharpness = (np.exp(middle) / scale).astype(np.float32)[:, None]
        densities = np.exp(-distances * sharpness)
        total = densities.sum(axis=1, keepdims=True)
        reached = np.log(total[:, 0]) + (densities * apart).sum(axis=1) * sharpness[:, 0] / total[:, 0]
        low, high = np.where(reached > entropy, middle, low), np.where(reached > entropy, high, middle)
        densities /= total
    both = densities + densities.T
    return np.maximum(both / both.sum(), TINY)


def gradient(wanted: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Of the Kullback-Leibler divergence of the places' similarities from those wanted, [rows, dimensions]."""
    squares = np.square(places).sum(axis=1, keepdims=True)
    ones = np.ones_like(squares)
    # 1 + squared distances as one product: passes over [rows, rows] are what takes the time
    near = np.hstack([-2 * places, squares + 1, ones]) @ np.hstack([places, ones, squares]).T
    np.reciprocal(near, out=near)
    np.fill_diagonal(near, 0)
    pull = near * (-1 / near.sum())
    pull += wanted
    pull *= near
    *product, total = (pull @ np.hstack([places, ones])).T
    return 4 * (total[:, None] * places - np.stack(product, axis=1))


def squared_distances(points: np.ndarray) -> np.ndarray:
    """[rows, rows]."""
    squares = np.square(points).sum(axis=1)
    distances = points @ points.T
    distances *= -2  # in place, as below: half of the time would go into new arrays
    distances += squares
    distances += squares[:, None]
    return np.maximum(distances, 0, out=distances)
