"""Is a model as good as the one that it was made from? Answers of both on the same rows."""

from dataclasses import replace

import numpy as np
import pytest

from mtbert.judge import Verdict, non_inferiority
from mtbert.tasks import COURSE, OF_CLASSES, Metric, Task

YES_NO = replace(COURSE["sst"], classes=2, matters=0.01)


def changed(rows: int, lost: int, gained: int = 0, task: Task = YES_NO) -> non_inferiority.ScoreChange:
    """A model that was right on all rows but ten; the other loses and gains so many."""
    labels = np.arange(rows) % 2.0
    before, after = labels.copy(), labels.copy()
    before[-10:] = after[-10:] = 1 - labels[-10:]
    after[:lost] = 1 - labels[:lost]
    after[rows - gained :] = labels[rows - gained :]
    return non_inferiority.score_change(task, labels, before, after, np.arange(rows))


@pytest.mark.parametrize(
    ("rows", "lost", "gained", "p", "verdict"),
    [
        (368, 0, 0, 0.99**368, Verdict.HOLDS),  # 0.0248: nothing changed
        (367, 0, 0, 0.99**367, Verdict.TOO_CLOSE),  # 0.0250: dev is too small
        (160, 1, 0, 0.5240, Verdict.TOO_CLOSE),  # 0.99^160 + 160 * 0.01 * 0.99^159
        (1500, 2, 3, 0.0027, Verdict.HOLDS),  # of five changes
        (1500, 2, 4, 0.0005, Verdict.HOLDS),  # from six on Student's t
        (160, 16, 0, 0.9991, Verdict.WORSE),
        (160, 0, 8, 0.0051, Verdict.HOLDS),  # better
    ],
)
def test_as_good_is_proved_by_the_margin(rows: int, lost: int, gained: int, p: float, verdict: Verdict) -> None:
    one = changed(rows, lost, gained)
    assert (one.changed, one.verdict) == (lost + gained, verdict)
    assert one.p.holds == pytest.approx(p, abs=1e-4)
    assert one.after - one.before == pytest.approx((gained - lost) / rows)


def test_a_rare_class_moves_its_f1_more() -> None:
    """Of 20 rows in 1,000, one changed answer costs the mean F1 of two classes 25 times what it costs accuracy."""
    labels = (np.arange(1000) < 20).astype(float)
    task = replace(YES_NO, metric="macro_f1")
    one = non_inferiority.score_change(task, labels, labels, labels, np.arange(1000))
    assert one.p.holds == pytest.approx((1 - 0.01 / 25) ** 1000)
    assert one.verdict is Verdict.TOO_CLOSE


@pytest.mark.parametrize("metric", OF_CLASSES.values())
def test_no_changed_answer_costs_more_than_is_counted(metric: Metric) -> None:
    """Of 1,000 rows 20 have the rare class, and one of these is answered by the other class."""
    labels = (np.arange(1000) < 20).astype(float)
    task, clusters = replace(YES_NO, metric=metric), np.arange(1000)
    most = 0.01 / (1 - non_inferiority.score_change(task, labels, labels, labels, clusters).p.holds ** (1 / 1000))
    after = np.append(0.0, labels[1:])
    assert 1 - non_inferiority.score_change(task, labels, labels, after, clusters).after <= most / 1000 + 1e-9


def test_rows_of_one_cluster_count_once() -> None:
    labels = np.arange(800) % 2.0
    one = non_inferiority.score_change(YES_NO, labels, labels, labels, np.arange(800) // 4)
    assert one.p.holds == pytest.approx(0.99**200)


def test_scores_that_differ_in_the_last_digits_are_the_same() -> None:
    labels = np.linspace(0, 5, 4000)
    one = non_inferiority.score_change(COURSE["sts"], labels, labels, labels + 1e-6, np.arange(4000))
    assert (one.changed, one.verdict) == (0, Verdict.HOLDS)  # (1 - 0.01 / 8)^4000 is 0.007


def test_all_tasks_have_to_be_as_good() -> None:
    good, small, worse = changed(1000, 0), changed(100, 0), changed(160, 16)
    assert non_inferiority.together([good, good]) is Verdict.HOLDS
    assert non_inferiority.together([good, small]) is Verdict.TOO_CLOSE
    assert non_inferiority.together([good, small, worse]) is Verdict.WORSE


def test_a_large_cluster_counts_as_much_as_it_holds() -> None:
    """Of 797 clusters one has four rows, and could lose four."""
    labels = np.arange(800) % 2.0
    one = non_inferiority.score_change(YES_NO, labels, labels, labels, np.maximum(np.arange(800), 3))
    assert one.p.holds == pytest.approx((1 - 0.01 * 800 / 797 / 4) ** 797)


def test_what_is_worse_by_an_open_size_is_worse() -> None:
    """-0.008 with an interval below 0, which holds the margin."""
    assert changed(2000, 16).verdict is Verdict.WORSE
    assert non_inferiority.together([changed(1000, 0), changed(2000, 16)]) is Verdict.WORSE


@pytest.mark.parametrize(
    ("metric", "most"),
    [
        ("micro_f1", 1000 * (1 / 1999 + 19 / 2000)),  # 2,000 labels and predictions, one lost hit, 19 false labels
        ("labels_f1", 1000 * (1 / 99 + 19 / 100) / 20),  # 100 of each of 20 labels
    ],
)
def test_a_changed_set_may_differ_in_each_label(metric: str, most: float) -> None:
    """A changed row costs accuracy 0.001, and these scores up to ten times as much, however few sets there are."""
    task = replace(YES_NO, several=True, classes=20, metric=metric)
    labels = 2.0 ** (np.arange(1000) % 20)
    one = non_inferiority.score_change(task, labels, labels, labels, np.arange(1000))
    assert one.p.holds == pytest.approx((1 - 0.01 / most) ** 1000)
    assert one.verdict is Verdict.TOO_CLOSE
    worst = np.append(2.0**20 - 1 - labels[:1], labels[1:])
    assert (
        9.8 / 1000 < 1 - non_inferiority.score_change(task, labels, labels, worst, np.arange(1000)).after <= most / 1000
    )
