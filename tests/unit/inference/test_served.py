"""Rows that MLflow's server hands on."""

import warnings

import pandas as pd
import pytest
from mlflow.exceptions import MlflowException

from mtbert.inference.answers import checked_rows
from mtbert.inference.model import Model, NotFiniteError
from mtbert.tasks import COURSE, Task

with warnings.catch_warnings(action="ignore"):  # MLflow's own, about types
    from mtbert.inference import served


class Stand(Model):
    """A model that checks its rows, and returns their texts."""

    name, seed, tasks = "stand", 1, ("sst", "sts")

    def __init__(self) -> None:
        pass

    def task(self, name: str | None) -> Task:
        return COURSE[name] if name else super().task(name)

    def predict(self, rows: list, task: str | None = None) -> pd.DataFrame:
        return pd.DataFrame(
            {"task": task or "all", "texts": checked_rows("x", ("text", "text_pair")[: len(rows[0])], rows)}
        )


@pytest.fixture
def model() -> served.PyfuncModel:
    served_model = served.PyfuncModel()
    served_model.model = Stand()
    return served_model


def answer(model: served.PyfuncModel, rows: dict, task: str = "") -> list[tuple]:
    return [(row["task"], *row["texts"]) for row in model.predict(None, pd.DataFrame(rows), {"task": task})]


def test_what_is_not_finite_is_the_servers_fault_in_the_requests_row(
    model: served.PyfuncModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_on_pairs(rows: list, task: str) -> pd.DataFrame:
        if task == "sts":
            raise NotFiniteError("stand, seed 1, sts", [0], "its weights are faulty")
        return pd.DataFrame({"task": task, "texts": rows})

    monkeypatch.setattr(model.model, "predict", fail_on_pairs)
    rows = {"text": ["a", "b"], "text_pair": [None, "c"], "task": ["sst", "sts"]}
    with pytest.raises(MlflowException, match="stand, seed 1, sts: row 2: what is computed is not finite") as refused:
        model.predict(None, pd.DataFrame(rows), {})
    assert refused.value.get_http_status_code() == 500


def test_a_second_text_that_is_missing_or_null_is_none(model: served.PyfuncModel) -> None:
    assert answer(model, {"text": ["a"]}, "sst") == [("sst", "a")]
    assert answer(model, {"text": ["a"], "text_pair": [None]}, "sst") == [("sst", "a")]
    assert answer(model, {"text": ["a"], "text_pair": ["b"]}, "sts") == [("sts", "a", "b")]


def test_each_row_has_the_task_that_it_names_and_else_the_requests_one(model: served.PyfuncModel) -> None:
    rows = {"text": ["a", "b", "c"], "text_pair": ["x", None, "z"], "task": [None, "sst", "sts"]}
    assert answer(model, rows, "sts") == [("sts", "a", "x"), ("sst", "b"), ("sts", "c", "z")]


def test_a_row_without_a_task_is_answered_by_all_that_take_it(model: served.PyfuncModel) -> None:
    rows = {"text": ["a", "b", "c"], "text_pair": ["x", None, "z"], "task": [None, None, "sts"]}
    assert answer(model, rows) == [("all", "a", "x"), ("all", "b"), ("sts", "c", "z")]


def test_a_row_that_no_task_takes_is_the_clients_fault(model: served.PyfuncModel) -> None:
    model.model.tasks = ("sst", "cfimdb")
    with pytest.raises(
        MlflowException, match="stand has no task for rows of two texts; its tasks take: sst one"
    ) as refused:
        model.predict(None, pd.DataFrame({"text": ["a"], "text_pair": ["b"]}), {"task": ""})
    assert refused.value.get_http_status_code() == 400


@pytest.mark.parametrize(
    ("rows", "task", "said"),
    [
        ({"text": [None], "text_pair": ["b"]}, "sst", "row 1: sst: needs one text, got 2"),
        ({"text": ["a", None], "text_pair": [None, None]}, "sst", "row 2: sst: text is missing; allowed: text"),
        ({"text": [float("nan")], "text_pair": ["b"]}, "sts", "row 1: sts: text is missing; allowed: text"),
        (
            {"text": ["a"] * 3, "text_pair": [None, "b", " "], "task": ["sst", "sts", "sts"]},
            "",
            "row 3: sts: text_pair is empty",
        ),
    ],
)
def test_a_null_text_is_refused_with_its_row_as_the_clients_fault(
    model: served.PyfuncModel, rows: dict, task: str, said: str
) -> None:
    with pytest.raises(MlflowException, match=said) as refused:
        model.predict(None, pd.DataFrame(rows), {"task": task})
    assert refused.value.get_http_status_code() == 400
