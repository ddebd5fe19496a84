"""Rows that MLflow's server hands on."""

import warnings

import pandas as pd
import pytest
from mlflow.exceptions import MlflowException

from mtbert.inference import predicting
from mtbert.tasks import TASKS

with warnings.catch_warnings(action="ignore"):  # MLflow's own, about types
    from mtbert.inference import served


class Stand:
    """A model that checks its rows alone."""

    tasks = ("sst", "sts")

    def predict(self, task: str, rows: list):
        return predicting.checked_rows(TASKS[task], rows)


@pytest.fixture
def model() -> served.Served:
    served_model = served.Served()
    served_model.model = Stand()  # type: ignore[assignment]
    return served_model


def test_a_second_text_that_is_missing_or_null_is_none(model: served.Served) -> None:
    assert model.predict(None, pd.DataFrame({"text": ["a"]}), {"task": "sst"}) == [("a",)]
    assert model.predict(None, pd.DataFrame({"text": ["a"], "text_pair": [None]}), {"task": "sst"}) == [("a",)]
    assert model.predict(None, pd.DataFrame({"text": ["a"], "text_pair": ["b"]}), {"task": "sts"}) == [("a", "b")]


@pytest.mark.parametrize(
    ("rows", "task", "said"),
    [
        ({"text": [None], "text_pair": ["b"]}, "sst", "sst: row 1: needs one text, came 2"),
        ({"text": ["a", None], "text_pair": [None, None]}, "sst", "sst: row 2: sentence is missing; allowed: text"),
        ({"text": [float("nan")], "text_pair": ["b"]}, "sts", "sts: row 1: sentence1 is missing; allowed: text"),
    ],
)
def test_a_null_text_is_refused_with_its_row_as_the_clients_fault(
    model: served.Served, rows: dict, task: str, said: str
) -> None:
    with pytest.raises(MlflowException, match=said) as refused:
        model.predict(None, pd.DataFrame(rows), {"task": task})
    assert refused.value.get_http_status_code() == 400
