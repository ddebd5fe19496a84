"""The answers of all tasks side by side, whatever predicts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mtbert.errors import DataError
from mtbert.inference import answers
from mtbert.inference.answers import ModelError
from mtbert.inference.ensemble import Ensemble
from mtbert.tasks import Task

TOPIC = Task("topic", 2, ("text",), "topic", "accuracy", names=("billing", "bug"))
ANGER = Task("anger", 1, ("text",), "anger", "pearson", lowest=0, highest=5)
SAME = Task("same", 2, ("one", "two"), "same", "accuracy", names=("no", "yes"))
TABLES = {
    "topic": {"prediction": 1.0, "class": "bug", "probability_0": 0.25, "probability_1": 0.75, "cut": False},
    "anger": {"prediction": 4.5, "lowest": 0.0, "highest": 5.0, "cut": True},
    "same": {"prediction": 0.0, "class": "no", "probability_0": 0.5, "probability_1": 0.5, "cut": False},
}


class Stand:
    """A predictor that says the same of each row, and notes what it was asked."""

    name, seed = "stand", 1

    def __init__(self, *tasks: Task) -> None:
        self.described = {task.name: task for task in tasks}
        self.tasks = (*self.described,)
        self.asked: list[tuple[list[str], list[tuple[str, ...]]]] = []

    def task(self, name: str | None) -> Task:
        return self.described[answers.task_name(self, name)]

    def tables(self, tasks: Sequence[str], rows: Sequence[tuple[str, ...]]) -> dict[str, pd.DataFrame]:
        self.asked.append(([*tasks], [*rows]))
        return {task: pd.DataFrame([TABLES[task]] * len(rows)) for task in tasks}


def test_without_a_task_all_that_take_such_rows_are_asked_at_once():
    stand = Stand(TOPIC, SAME, ANGER)
    found = answers.predict(stand, ["a", "b"], None)
    assert stand.asked == [(["topic", "anger"], [("a",), ("b",)])]
    row = {"topic": "bug", "topic_probability": 0.75, "anger": 4.5, "cut": True}
    assert found.to_dict("records") == [row, row]


def test_pairs_are_answered_by_the_tasks_of_pairs():
    found = answers.predict(Stand(TOPIC, SAME), [("a", "b")], None)
    assert found.to_dict("records") == [{"same": "no", "same_probability": 0.5, "cut": False}]


def test_a_task_that_is_named_and_the_only_one_have_the_table_of_one_task():
    assert answers.predict(Stand(TOPIC, ANGER), ["a"], "topic").to_dict("records") == [TABLES["topic"]]
    assert answers.predict(Stand(ANGER), ["a"], None).to_dict("records") == [TABLES["anger"]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["a", ("b", "c")], "stand: row 2: needs one text, got 2"),
        (["a", " "], "stand: row 2: text is empty"),
        ([], "stand needs a list of rows, each one text; got no row"),
        ("a", "stand needs a list of rows, each one text; got a text"),
        (pd.DataFrame({"text": ["a", "b"]}), "rows are a DataFrame, which has no order of rows; allowed: a list of te"),
        ({"text": ["a", "b"]}, "rows are a dict, which has no order of rows"),
        ({"a", "b"}, "rows are a set, which has no order of rows"),
    ],
)
def test_rows_of_another_form_than_the_first_are_refused(rows: list, said: str):
    with pytest.raises(DataError, match=said):
        answers.predict(Stand(TOPIC, ANGER), rows, None)


def test_rows_may_be_a_series_or_an_array():
    texts: Any = pd.Series(["a", "b"], index=[7, 8])
    assert len(answers.predict(Stand(TOPIC, ANGER), texts, None)) == 2
    pairs: Any = np.array([["a", "b"], ["c", "d"]])
    found = answers.predict(Stand(TOPIC, SAME), pairs, None)
    assert found["same"].to_list() == ["no", "no"]


def test_rows_in_the_place_of_the_task_are_refused():
    with pytest.raises(ModelError, match=r"task is \['a'\]; allowed: the name of a task\. The rows come first"):
        answers.predict(Stand(TOPIC, ANGER), "topic", ["a"])  # type: ignore[arg-type]


def test_rows_that_no_task_takes_are_refused():
    said = "stand has no task for rows of two texts; its tasks take: topic one text, anger one text"
    with pytest.raises(ModelError, match=said):
        answers.predict(Stand(TOPIC, ANGER), [("a", "b")], None)


@pytest.mark.parametrize("name", ["topic_probability", "cut"])
def test_two_columns_of_one_name_are_refused(name: str):
    other = Task(name, 1, ("text",), name, "pearson", lowest=0, highest=5)
    tables = {"topic": pd.DataFrame([TABLES["topic"]]), name: pd.DataFrame([TABLES["anger"]])}
    with pytest.raises(ModelError, match=f"the answers of all tasks would have two columns {name}; name one task"):
        answers.in_one([TOPIC, other], tables)


MOODS = Task("moods", 3, ("text",), "moods", "micro_f1", names=("joy", "anger", "fear"), several=True)


def test_a_set_of_labels_is_a_list_of_names_with_the_probability_of_each():
    probabilities = {f"probability_{label}": np.array([0.9, 0.1]) for label in range(3)}
    table = answers.table(MOODS, {"prediction": np.array([5.0, 0.0]), **probabilities}, np.array([False, True]))
    assert table["prediction"].tolist() == [["joy", "fear"], []]
    assert answers.with_numbers(MOODS, table)["prediction"].tolist() == [5.0, 0.0]
    both = answers.in_one([MOODS], {"moods": table})
    assert both.to_dict("records")[0] == {
        "moods": ["joy", "fear"], "moods_probability_0": 0.9, "moods_probability_1": 0.9, "moods_probability_2": 0.9,
        "cut": False,
    }  # fmt: skip


def test_a_vote_has_the_tasks_of_all_members_and_cuts_where_the_first_of_them_does():
    members: list[Any] = [Stand(TOPIC, ANGER), Stand(SAME, TOPIC)]
    members[0].longest, members[1].longest = 64, 32
    vote = Ensemble("vote", 1, members, Path("votes"))
    assert (vote.tasks, vote.longest) == (("topic",), 32)
