"""Models in MLflow: which of a variant's seeds is called the best."""

from types import SimpleNamespace
from typing import Any

import pytest

from mtbert.tracking import models
from mtbert.tracking.record import LogEntry

ENTRIES = [
    LogEntry("dev/sst", 10, 0.9, phase=1),
    LogEntry("dev/sst", 20, 0.5, phase=2),
    LogEntry("dev/qqp", 20, 0.7, phase=2),
    LogEntry("dev/sst", 30, 0.4, phase=2),
    LogEntry("dev/overall_raw", 30, 0.8, phase=2),
    LogEntry("loss/sst", 30, 0.1, phase=2),
]


@pytest.mark.parametrize(("keep", "score"), [("best", 0.6), ("last", 0.4)])
def test_a_run_is_chosen_by_the_dev_scores_of_its_kept_epoch_which_is_of_the_last_phase(keep: str, score: float):
    record: Any = SimpleNamespace(entries=ENTRIES, params={"run.keep": keep}, chosen_by=None)
    assert models.choosing(record) == pytest.approx(score)


def test_the_score_that_chose_an_epoch_goes_before_means_over_all_of_dev():
    record: Any = SimpleNamespace(entries=ENTRIES, params={"run.keep": "best"}, chosen_by=0.55)
    assert models.choosing(record) == 0.55


def test_a_run_without_dev_scores_is_not_chosen():
    record: Any = SimpleNamespace(entries=ENTRIES[-1:], params={"run.keep": "last"}, chosen_by=None)
    assert models.choosing(record) is None
