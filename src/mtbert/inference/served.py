"""Serve a model with MLflow, which copies this file beside the weights; mtbert has to be installed where it serves.

Input: `text`, and `text_pair` for tasks of pairs; parameter `task`. Output: a row for each, as of `Model.predict`.
"""

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.pyfunc.model import PythonModel

from mtbert.errors import MtbertError


class Served(PythonModel):
    """A trained model with MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Load the weights."""
        from mtbert.inference import loading  # `mtbert track` runs this file, too, and does without torch

        self.model = loading.of_run(Path(context.artifacts["run"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:
        """Predict each row; for a faulty row MLflow answers with status 400 and our message."""
        try:
            return self.model.predict((params or {}).get("task") or self.model.tasks[0], rows(model_input))
        except MtbertError as error:
            raise MlflowException(str(error), INVALID_PARAMETER_VALUE) from None


def rows(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the texts of each row: its text, also where that is null, and its second text where there is one."""
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return [(row["text"],) if row.get("text_pair") is None else (row["text"], row["text_pair"]) for row in records]


set_model(Served())
