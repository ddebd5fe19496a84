"""The mean of a group less that of the rest: Welch's test where no rows share a cluster."""

import numpy as np
import pytest
from scipy import stats

from mtbert.judge.groups import less_the_rest


def test_without_shared_clusters_it_is_welchs_test():
    random = np.random.default_rng(0)
    values, is_inside = random.normal(size=90), np.arange(90) < 40
    difference = less_the_rest(values, is_inside, np.arange(90))
    welch = stats.ttest_ind(values[:40], values[40:], equal_var=False)
    assert difference.mean == pytest.approx(values[:40].mean() - values[40:].mean())
    assert difference.error == pytest.approx(
        difference.mean / welch.statistic, rel=0.02
    )  # ours divides by n, not n - 1
    assert difference.freedom == 39


def test_what_a_cluster_has_on_both_sides_cancels():
    values = np.array([0.0, 0.0, 1.0, 1.0] * 10)  # rows 0 and 1 of a cluster are alike
    is_inside = np.arange(40) % 2 == 0
    assert less_the_rest(values, is_inside, np.arange(40) // 2).error is None  # nothing varies
    assert less_the_rest(values, is_inside, np.arange(40)).error == pytest.approx(0.158, abs=0.001)
