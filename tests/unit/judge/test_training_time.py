"""How long a row takes to train: all of its models, and those that they learn from."""

from typing import Any

import made
import pytest

from mtbert.judge.rows import Scoreboard
from mtbert.scores.results import Results

SECONDS = {"sst": 10.0, "sts": 20.0, "student": 100.0, "plain": 90.0}
TASKS = {"sst": ["sst"], "sts": ["sts"], "student": ["sst", "sts"], "plain": ["sst", "sts"]}


def board(*left_out: str, **settings: dict[str, Any]) -> Scoreboard:
    """Of four variants; `student` learns from the models of one task."""
    names = [name for name in SECONDS if name not in left_out]
    settings["student"] = {"teachers": ["sst", "sts"]}
    results = made.results({(name, 1): {task: made.LABELS[task] for task in TASKS[name]} for name in names}, settings)
    runs = results.runs.assign(seconds=results.runs["variant"].map(SECONDS))
    return Scoreboard(Results(runs, results.predictions, results.history))


@pytest.mark.parametrize(
    ("names", "seconds"), [(["student"], 130.0), (["plain"], 90.0), (["sst", "sts"], 30.0), (["student", "sst"], 130.0)]
)
def test_a_rows_time_is_that_of_its_models_and_of_their_teachers_each_once(names: list[str], seconds: float):
    assert board().row(names).seconds == seconds


def test_where_results_lack_a_teacher_nobody_knows_the_time():
    assert board("sts").row(["student"]).seconds is None
