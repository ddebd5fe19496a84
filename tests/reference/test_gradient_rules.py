"""Gradient rules against what makes a solution one, on 250 random sets of gradients, to 1e-6, with no other solver."""

import itertools

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mtbert.learning.gradients import GRADIENTS

Array = NDArray[np.float64]  # a row a task
C = 0.4
RULES = {
    name: GRADIENTS.build(GRADIENTS.choose({"name": name, **options}), torch.Generator())
    for name, options in {"mgda": {}, "cagrad": {"c": C}, "imtl_g": {}, "upgrad": {}, "nash_mtl": {}}.items()
}
random = np.random.default_rng(16)


def some(tasks: int, dimensions: int = 8) -> Array:
    """Gradients that differ up to a hundredfold in length, and mostly conflict."""
    return random.normal(size=(tasks, dimensions)) * 10.0 ** random.uniform(-1, 1, size=(tasks, 1))


PLAIN, DEGENERATE = [], []
for number in range(75):
    PLAIN += [some(2 + number % 4), np.abs(some(2 + number % 4))]  # the latter agree
for number in range(25):
    others = some(1 + number % 4)
    DEGENERATE.append(some(2 + number % 4, dimensions=1 + number % 4))
    DEGENERATE += [np.vstack([others, last]) for last in (np.zeros(8), others[0], -others[0])]
ALL = [*PLAIN, *DEGENERATE]


def unit(rows: Array) -> Array:
    """The same with squared lengths that add up to 1, so that 1e-6 means the same for all."""
    return rows / np.linalg.norm(rows)


def counts(name: str, rows: Array) -> Array:
    return RULES[name].counts(rows @ rows.T)


def made(name: str, rows: Array) -> Array:
    """The gradient that comes out."""
    return counts(name, rows) @ rows


@pytest.mark.parametrize("name", RULES)
def test_every_gramian_gives_finite_counts_also_where_rounding_spoilt_it(name: str):
    zeros = [np.zeros((tasks, 3)) for tasks in (1, 2, 5)]
    for rows in [*ALL, *zeros, *(1e-12 * rows for rows in ALL[:9])]:
        error = 1e-6 * random.normal(size=(len(rows), len(rows)))
        spoilt = (rows @ rows.T).astype(np.float32) * (1 + error + error.T)
        for gramian in (rows @ rows.T, spoilt):
            found = RULES[name].counts(gramian)
            assert found.shape == (len(rows),)
            assert np.isfinite(found).all()


def test_mgda_gives_a_mean_that_no_gradient_would_shorten():
    for rows in map(unit, ALL):
        found = counts("mgda", rows)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert (rows @ (found @ rows)).min() >= (found @ rows) @ (found @ rows) - 1e-9


def test_cagrad_does_as_much_for_the_worst_task_as_its_dual_problem_allows():
    helped = 0
    for rows in map(unit, ALL):
        even, found = np.full(len(rows), 1 / len(rows)), counts("cagrad", rows)
        mean, given = even @ rows, found @ rows
        radius = C * np.linalg.norm(mean)
        assert np.linalg.norm(given - mean) <= radius + 1e-9
        weights = found - even
        if not weights.any():  # no direction helps all
            assert np.linalg.norm(made("mgda", rows)) <= 1e-4
            continue
        worst = weights / weights.sum() @ rows
        assert weights.min() >= 0
        assert (rows @ given).min() >= worst @ mean + radius * np.linalg.norm(worst) - 1e-9
        helped += 1
    assert helped > 200


def test_imtl_g_gives_equal_projections():
    for rows in map(unit, ALL):
        found, lengths = counts("imtl_g", rows), np.linalg.norm(rows, axis=1)
        assert found.sum() == pytest.approx(1.0, abs=1e-9)
        projections = (rows @ (found @ rows))[lengths > 0] / lengths[lengths > 0]
        scale = max(1.0, np.abs(found).max())
        if np.ptp(projections) > 1e-6 * scale:  # there are none, and all count alike
            assert np.ptp(found) == pytest.approx(0.0, abs=1e-12)
            assert np.linalg.matrix_rank(rows) < len(rows)


def least(rows: Array, lowest: Array) -> Array:
    """v' J of the v >= lowest that makes it shortest, by trying which v are at their lowest."""
    candidates = []
    for free in itertools.product([False, True], repeat=len(rows)):
        at = np.array(free)
        v = lowest.astype(float)
        v[at] = np.linalg.lstsq(rows[at].T, -lowest[~at] @ rows[~at], rcond=1e-12)[0]
        if (v >= lowest - 1e-9).all():
            candidates.append(v @ rows)
    return min(candidates, key=np.linalg.norm)


def test_upgrad_is_the_mean_of_the_nearest_gradients_that_harm_no_task():
    for rows in map(unit, ALL):
        expected = np.mean([least(rows, one) for one in np.eye(len(rows))], axis=0)
        assert made("upgrad", rows) == pytest.approx(expected, abs=1e-6)
        assert (rows @ made("upgrad", rows)).min() >= -1e-9


def test_nash_mtl_solves_its_equation():
    for rows in (3 * unit(rows) for rows in PLAIN):
        found = counts("nash_mtl", rows)
        assert found.min() > 0
        assert found * (rows @ rows.T @ found) == pytest.approx(np.ones(len(rows)), abs=1e-4)
        if np.linalg.cond(rows @ rows.T) < 1e3:  # below, what is added to each length is seen
            assert found * (rows @ rows.T @ found) == pytest.approx(np.ones(len(rows)), abs=1e-6)


def test_nash_mtl_lets_cancel_what_cancels():
    for rows in map(unit, DEGENERATE):
        assert np.linalg.norm(made("nash_mtl", rows)) <= np.sqrt(len(rows)) * (1 + 1e-6)
        assert (rows @ made("nash_mtl", rows)).min() >= -1e-4
