"""Our t-SNE against scikit-learn's."""

import numpy as np
import pytest
from sklearn.manifold import TSNE
from sklearn.manifold._utils import _binary_search_perplexity
from threadpoolctl import threadpool_limits

from mtbert.reporting import tsne


def clusters() -> np.ndarray:
    """Four clusters of 30 points in 20 dimensions, that overlap."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=1, size=(4, 1, 20))
    return (centres + random.normal(size=(4, 30, 20))).reshape(120, 20).astype(np.float32)


def divergence(points: np.ndarray, places: np.ndarray) -> float:
    """Kullback-Leibler, of the places' similarities from the points', as t-SNE minimises it."""
    wanted = tsne.similarities(points).astype(float)
    near = 1 / (1 + tsne.squared_distances(places.astype(float)))
    np.fill_diagonal(near, 0)
    apart = ~np.eye(len(points), dtype=bool)
    return float((wanted[apart] * np.log(wanted[apart] / (near / near.sum())[apart])).sum())


@pytest.mark.parametrize("dimensions", [2, 3])
def test_places_are_as_good_as_scikit_learns(dimensions: int) -> None:
    points = clusters()
    theirs = TSNE(dimensions, init="pca", max_iter=500, random_state=0).fit_transform(points)
    (ours,) = tsne.project(points, [dimensions])
    assert ours.shape == (120, dimensions)
    assert divergence(points, ours) <= 1.02 * divergence(points, theirs)


def test_every_point_has_the_perplexity() -> None:
    points = clusters()
    theirs = _binary_search_perplexity(tsne.squared_distances(points).astype(np.float32), 30.0, 0)
    both = theirs + theirs.T
    np.testing.assert_allclose(tsne.similarities(points), np.maximum(both / both.sum(), 1e-12), rtol=2e-3, atol=1e-7)


def test_the_gradient_is_the_divergences() -> None:
    random = np.random.default_rng(1)
    points, places = random.normal(size=(9, 5)), random.normal(size=(9, 2))
    slope = tsne.gradient(tsne.similarities(points).astype(float), places)
    step = np.zeros_like(places)
    step[4, 1] = 1e-6
    measured = (divergence(points, places + step) - divergence(points, places - step)) / 2e-6
    assert slope[4, 1] == pytest.approx(measured, rel=1e-4)


def test_the_same_points_lie_at_the_same_places_and_equal_points_break_nothing() -> None:
    points = clusters()
    np.testing.assert_array_equal(tsne.project(points, [2])[0], tsne.project(points, [3, 2])[1])
    assert np.isfinite(tsne.project(np.zeros((8, 5), dtype=np.float32), [3])).all()
    assert np.isfinite(tsne.project(np.eye(4, 2, dtype=np.float32), [3])).all()


def test_places_do_not_depend_on_the_number_of_threads() -> None:
    points = np.random.default_rng(0).normal(size=(250, 384)).astype(np.float32)
    with threadpool_limits(1):
        one = tsne.project(points, [3])
    with threadpool_limits(2):
        two = tsne.project(points, [3])
    np.testing.assert_array_equal(one, two)
