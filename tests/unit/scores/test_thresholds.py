"""The probability from which on a row has a label."""

import numpy as np
import pytest

from mtbert.scores import thresholds


@pytest.mark.parametrize(
    ("is_member", "probability", "expected"),
    [
        ([1, 1, 0], [0.9, 0.6, 0.2], 0.4),  # in the middle between the last row that has it and the next
        ([1, 0, 1, 0], [0.3, 0.2, 0.1, 0.05], 0.075),  # F1 of three rows 4/5, of the first alone 2/3
        ([1, 0, 0, 0], [0.3, 0.2, 0.1, 0.05], 0.25),
        ([1, 1], [0.2, 0.1], 0.05),  # all rows
        ([1, 0, 1], [0.5, 0.5, 0.1], 0.05),  # equal rows are on one side: 4/5 against 1/2
        ([0, 0], [0.9, 0.1], 0.5),  # no row says anything
    ],
)
def test_it_is_where_f1_is_highest(is_member: list[int], probability: list[float], expected: float) -> None:
    assert thresholds.best(np.array(is_member, bool), np.array(probability)) == pytest.approx(expected)


def test_no_other_threshold_has_a_higher_f1() -> None:
    random = np.random.default_rng(0)
    is_member, probability = random.random(200) < 0.3, random.random(200)
    probability[is_member] += 0.2

    def f1(least: float) -> float:
        return 2 * (is_member & (probability >= least)).sum() / (is_member.sum() + (probability >= least).sum())

    chosen = thresholds.best(is_member, probability)
    assert f1(chosen) == max(f1(least) for least in probability)


def test_a_label_of_a_handful_of_rows_has_the_threshold_of_all_labels_together() -> None:
    members = np.zeros((40, 2), bool)
    members[:10, 0] = members[:9, 1] = True
    probabilities = np.where(members, [0.8, 0.4], [0.6, 0.1])
    common = thresholds.best(members.ravel(), probabilities.ravel())
    assert thresholds.choose(members, probabilities).tolist() == pytest.approx([0.7, common])
    members[9, 1], probabilities[9, 1] = True, 0.4  # ten rows are enough
    assert thresholds.choose(members, probabilities).tolist() == pytest.approx([0.7, 0.25])
