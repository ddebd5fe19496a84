"""The expected calibration error of few rows."""

import numpy as np
import pytest

from mtbert.stats.calibration import calibration


def test_the_error_is_the_mean_gap_of_bins():
    probabilities = np.array([[0.95], [0.95], [0.55], [0.55]])
    right = np.array([[1.0], [0.0], [1.0], [0.0]])
    assert calibration(probabilities, right, np.arange(4))[0] == pytest.approx((2 * 0.45 + 2 * 0.05) / 4)


def test_gaps_of_one_bin_cancel_and_of_seeds_do_not():
    right = np.array([[1.0, 1.0], [1.0, 0.0]])
    assert calibration(np.full((2, 2), 0.75), right, np.arange(2))[0] == pytest.approx((0.25 + 0.25) / 2)


def test_a_probability_of_1_is_in_the_last_bin():
    assert calibration(np.array([[1.0]]), np.array([[1.0]]), np.zeros(1))[0] == 0.0


def test_the_interval_holds_a_gap_that_is_truly_there():
    random = np.random.default_rng(0)
    right = (random.random((2000, 1)) < 0.7).astype(float)
    error, (low, high) = calibration(np.full((2000, 1), 0.9), right, np.arange(2000))
    assert low < 0.2 < high
    assert error == pytest.approx(0.2, abs=0.03)
    assert high - low == pytest.approx(4 * np.sqrt(0.7 * 0.3 / 2000), rel=0.15)


def test_rows_of_a_cluster_count_as_one():
    random = np.random.default_rng(0)
    right = np.repeat((random.random((100, 1)) < 0.7).astype(float), 20, axis=0)
    _, (low, high) = calibration(np.full((2000, 1), 0.9), right, np.arange(2000) // 20)
    assert high - low == pytest.approx(4 * np.sqrt(0.7 * 0.3 / 100), rel=0.15)


def test_the_interval_holds_an_estimate_that_every_sample_exceeds():
    probabilities = 0.5 + 0.1 * (np.arange(20) + 0.5) / 20  # by which 11 of 20 are right
    error, (low, high) = calibration(probabilities[:, None], (np.arange(20) < 11)[:, None], np.arange(20))
    assert error == pytest.approx(0, abs=1e-9)
    assert low <= error <= high
