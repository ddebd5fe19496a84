"""Serve a model with MLflow, which copies this file beside the weights; mtbert has to be installed where it serves.

Input: `text`, and `text_pair` for tasks of pairs; parameter `task`. Output: a row for each, as of `Predictor.predict`.
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
        from mtbert.inference import loading

        self.model = loading.of_run(Path(context.artifacts["run"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:
        """Predict each row; for a faulty row MLflow answers with status 400 and our message."""
        try:
            task = self.model.task((params or {}).get("task") or self.model.tasks[0])
            return self.model.predict(task.name, rows(model_input))
        except MtbertError as error:
            raise MlflowException(str(error), INVALID_PARAMETER_VALUE) from None


def rows(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the texts of each row: its text, whatever that is, and its second text where there is one."""
    firsts = list(table["text"].astype(object).where(table["text"].notna(), None))
    seconds = list(table["text_pair"]) if "text_pair" in table else [None] * len(firsts)
    return [
        (first, second) if isinstance(second, str) else (first,) for first, second in zip(firsts, seconds, strict=True)
    ]


set_model(Served())
