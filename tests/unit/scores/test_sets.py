"""Sets of labels: as numbers, their scores as scikit-learn has them, and how rows move these."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score

from mtbert.scores import average_precision, metrics, sets
from mtbert.stats import influence
from mtbert.tasks import COURSE, METRIC_NAMES

MOODS = replace(COURSE["sst"], classes=3, names=("joy", "anger", "fear"), several=True, metric="micro_f1")
RANDOM = np.random.default_rng(5)
GOLD = RANDOM.random((60, 6)) < [0.4, 0.2, 0.1, 0.05, 0, 1]
GUESS = np.where(RANDOM.random((60, 6)) < 0.25, ~GOLD, GOLD) & [True, True, True, True, False, True]
PROBABILITIES = np.round(0.3 * GOLD + RANDOM.random((60, 6)), 1)  # with ties


def test_a_set_is_the_sum_of_its_labels_powers_of_two() -> None:
    assert sets.number_of([0, 2]) == 5.0
    assert sets.numbers_of(np.array([[1, 0, 1], [0, 0, 0]], bool)).tolist() == [5.0, 0.0]
    assert sets.members_of(np.array([5.0, 0.0]), 3).tolist() == [[True, False, True], [False] * 3]


def test_the_set_of_all_of_53_labels_is_a_number_like_any_other() -> None:
    members = np.ones((1, 53), bool)
    assert sets.members_of(sets.numbers_of(members), 53).all()
    assert sets.numbers_of(members).tolist() == [sets.number_of(range(53))] == [2.0**53 - 1]


def test_a_set_is_written_as_its_file_writes_sets() -> None:
    assert json.loads(sets.in_words(MOODS, 5.0)) == ["0", "2"]  # a file of numbers, whose names are for people
    parted = replace(MOODS, labels={"j": 0, "a": 1, "f": 2}, separator=";")
    assert sets.in_words(parted, 5.0) == "j;f"
    assert (sets.in_words(MOODS, 0.0), sets.in_words(parted, 0.0)) == ("[]", "")


@pytest.mark.parametrize(
    ("metric", "labels", "predictions", "expected"),
    [
        ("micro_f1", [1, 3], [1, 4], 2 * 1 / (3 + 2)),
        ("labels_f1", [1, 3], [1, 4], (2 / 3 + 0 + 0) / 3),
        ("labels_f1", [1, 1], [1, 0], 2 / 3),  # labels that no row has or predicts do not count
        ("micro_f1", [0, 0], [0, 0], 0),
        ("labels_f1", [0, 0], [0, 0], 0),
    ],
)
def test_scores_of_sets_by_hand(metric: str, labels: list[float], predictions: list[float], expected: float) -> None:
    assert metrics.score(metric, labels, predictions, range(3)) == pytest.approx(expected)


def test_scores_of_sets_are_scikit_learns() -> None:
    labels, predictions = sets.numbers_of(GOLD), sets.numbers_of(GUESS)
    micro = f1_score(GOLD, GUESS, average="micro")
    macro = f1_score(GOLD, GUESS, average="macro", zero_division=np.nan)  # type: ignore[arg-type]
    assert metrics.micro_f1(labels, predictions, 6) == pytest.approx(micro)
    assert metrics.labels_f1(labels, predictions, 6) == pytest.approx(macro)
    of_labels = [label for label in range(6) if GOLD[:, label].any()]
    precision = average_precision_score(GOLD[:, of_labels], PROBABILITIES[:, of_labels], average="macro")
    assert average_precision.score(GOLD, PROBABILITIES) == pytest.approx(precision)


def test_the_average_precision_of_rows_without_labels_is_0() -> None:
    assert average_precision.score(np.zeros((2, 3), bool), np.ones((2, 3))) == 0


@pytest.mark.parametrize("metric", ["micro_f1", "labels_f1"])
def test_a_row_moves_a_score_of_sets_as_one_more_copy_of_it_does(metric: str) -> None:
    many, few = np.tile(np.arange(60), 200), np.arange(60)
    labels, predictions = sets.numbers_of(GOLD), sets.numbers_of(GUESS)
    before = metrics.score(metric, labels[many], predictions[many], range(6))
    for row in (0, 7, 31):
        more = [*many, row]
        after = metrics.score(metric, labels[more], predictions[more], range(6))
        moves = influence.scored(metric, labels, predictions[:, None], few, range(6)).moves[:, 0]
        assert 200 * (after - before) == pytest.approx(moves[row], abs=2e-5)


def test_a_row_moves_the_average_precision_as_one_more_copy_of_it_does() -> None:
    many = np.tile(np.arange(60), 200)
    before = average_precision.score(GOLD[many], PROBABILITIES[many])
    moves = average_precision.moves(GOLD, PROBABILITIES)
    for row in (0, 7, 31):
        more = [*many, row]
        after = average_precision.score(GOLD[more], PROBABILITIES[more])
        assert 200 * (after - before) == pytest.approx(moves[row], abs=2e-5)


def test_the_noise_of_rows_of_the_scores_of_sets_is_that_of_a_bootstrap() -> None:
    random = np.random.default_rng(1)
    rows = random.integers(0, 400, 400)  # of the 60, so that labels are not too rare
    gold, guess = GOLD[rows % 60], GUESS[rows % 60]
    probabilities = PROBABILITIES[rows % 60] + 0.3 * random.random((400, 6))
    labels, predictions = sets.numbers_of(gold), sets.numbers_of(guess)
    draws = [random.integers(0, 400, 400) for _ in range(500)]
    for metric in metrics.OF_SETS:
        drawn = [metrics.score(metric, labels[draw], predictions[draw], range(6)) for draw in draws]
        side = influence.scored(metric, labels, predictions[:, None], np.arange(400), range(6))
        assert np.sqrt((side.moves**2).sum()) == pytest.approx(np.std(drawn), rel=0.15)
    drawn = [average_precision.score(gold[draw], probabilities[draw]) for draw in draws]
    moves = average_precision.moves(gold, probabilities)
    assert np.sqrt((moves**2).sum()) == pytest.approx(np.std(drawn), rel=0.15)
    assert moves.sum() == pytest.approx(0)


def test_the_metrics_of_sets_have_the_names_of_those_of_classes() -> None:
    assert (METRIC_NAMES["micro_f1"], METRIC_NAMES["labels_f1"]) == ("micro-F1", "macro-F1")
    assert metrics.of_majority(MOODS, [1, 5, 2], [2, 3, 0]) == pytest.approx(2 * 2 / (3 + 3))
