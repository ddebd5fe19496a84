"""Learning curves whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest

from mtbert.baselines.rows import Rows
from mtbert.labelling import curve
from mtbert.labelling.curve import Point
from mtbert.scores.described import TFIDF
from mtbert.stats import Side
from mtbert.tasks import Task

TOPIC = Task("topic", 2, ("text",), "topic", "accuracy")


def points(*scores: float, noise: float = 0.0, rows: int = 1000) -> list[Point]:
    """Of 100, 200, 400 and 800 rows; each but the last has three draws, and dev rows of this much noise."""
    random = np.random.default_rng(0)
    made = []
    for number, mean in enumerate(scores):
        draws = 1 if number == len(scores) - 1 else 3
        moves = random.normal(0, noise / np.sqrt(rows), (rows, draws))
        side = Side(mean + noise * np.array([0.0, 1.0, -1.0])[:draws], moves, rows, rows)
        made.append(Point(100 * 2**number, side))
    return made


def test_an_error_that_falls_by_a_fifth_with_each_doubling_falls_by_another_fifth():
    gain = curve.gain(points(0.5, 0.6, 0.68, 0.744))
    assert gain is not None
    assert gain.expected == pytest.approx(0.2 * 0.256)
    assert gain.low == pytest.approx(gain.high, abs=0.002)
    assert gain.is_known


def test_a_flat_curve_brings_nothing():
    gain = curve.gain(points(0.7, 0.7, 0.7, 0.7, noise=0.01))
    assert gain is not None
    assert gain.expected == pytest.approx(0.0, abs=0.003)
    assert not gain.is_known


def test_more_noise_makes_a_wider_interval():
    few, many = (curve.gain(points(0.5, 0.6, 0.68, 0.744, noise=noise)) for noise in (0.005, 0.02))
    assert few is not None
    assert many is not None
    assert many.high - many.low > 2 * (few.high - few.low)


def test_the_scores_of_two_trainings_differ_by_the_noise_of_both(monkeypatch: pytest.MonkeyPatch):
    """A standard deviation of 0.02 each; the fit is left out, and dev rows have no noise."""
    monkeypatch.setattr(curve, "_doubled", lambda x, errors, precision: np.full(len(errors), 0.05))
    noisy = points(0.5, 0.6, 0.68, 0.744, noise=0.02)
    gain = curve.gain([replace(one, side=replace(one.side, moves=0 * one.side.moves)) for one in noisy])
    assert gain is not None
    assert gain.high - gain.low == pytest.approx(2 * 1.96 * np.sqrt(2) * 0.02, rel=0.05)


def test_two_parts_are_too_few():
    assert curve.gain(points(0.5, 0.6)) is None


def test_a_model_that_is_always_right_stays_so():
    gain = curve.gain(points(0.9, 0.98, 1.0, 1.0))
    assert gain is not None
    assert abs(gain.expected) < 0.002


def test_one_draw_of_a_part_does_not_tell_the_noise():
    single = [replace(point, side=point.side.as_trained) for point in points(0.5, 0.6, 0.68, 0.744)]
    assert curve.gain(single) is None


def test_one_draw_of_all_of_train_has_the_noise_of_the_part_before_it_and_several_have_their_own():
    *parts, single = points(0.5, 0.6, 0.68, 0.744, noise=0.0)
    half = replace(parts[-1], side=replace(parts[-1].side, scores=np.array([0.66, 0.68, 0.70])))
    seeds = replace(single, side=replace(half.side, scores=np.array([0.741, 0.744, 0.747])))
    noise = [
        curve.sampled([*parts[:-1], half, last], np.random.default_rng(0))[:, -1].std() for last in (single, seeds)
    ]
    assert noise == pytest.approx([0.02, 0.003 * np.sqrt(2 / 3) / np.sqrt(3)], rel=0.05)


def test_a_part_of_fewer_than_20_rows_is_left_out():
    texts = [f"{'good' if row % 2 else 'bad'} {row}" for row in range(80)]
    rows = Rows([str(row) for row in range(80)], [texts], np.arange(80.0) % 2)
    measured = curve.measure(TFIDF, TOPIC, rows, rows, lambda _: np.zeros((0, 1)))
    assert [point.rows for point in measured] == [20, 40, 80]
    assert [len(point.side.scores) for point in measured] == [3, 3, 1]
    assert measured[-1].side.mean == 1.0


def test_parts_that_one_large_cluster_fills_are_one_part():
    texts = [f"text {row}" for row in range(60)]
    rows = Rows([str(row) for row in range(60)], [texts], np.arange(60.0) % 2, groups=["a"] * 30 + ["b"] * 30)
    measured = curve.measure(TFIDF, TOPIC, rows, rows, lambda _: np.zeros((0, 1)))
    assert [point.rows for point in measured] == [30, 60]
