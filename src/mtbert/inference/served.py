"""Serve a model with MLflow, which copies this file beside the weights; mtbert has to be installed where it serves.

A row has `text`, and `text_pair` for tasks of pairs. Its task is in the column `task`, or else in the parameter `task`;
without either all tasks that take such a row are answered. The answer has a row for each, as of `Model.predict`.
"""

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, INVALID_PARAMETER_VALUE
from mlflow.pyfunc.model import PythonModel

from mtbert.errors import DataError, MtbertError


class PyfuncModel(PythonModel):
    """A trained model with MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Load the weights."""
        from mtbert.inference import loading  # `mtbert track` runs this file, too, and does without torch

        self.model = loading.load_folder(Path(context.artifacts["run"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:
        """Return a dict for each row; for a faulty row MLflow answers with status 400 and our message.

        Where what the model computes is not finite, the status is 500.
        """
        from mtbert.inference.model import NotFiniteError

        default_task = (params or {}).get("task") or None
        try:
            return self._predict_rows(records(model_input), default_task)
        except NotFiniteError as error:  # no fault of the client
            raise MlflowException(str(error), INTERNAL_ERROR) from None
        except MtbertError as error:
            raise MlflowException(str(error), INVALID_PARAMETER_VALUE) from None

    def _predict_rows(self, rows: list[dict[str, Any]], default_task: str | None) -> list[dict[str, Any]]:
        """Predict the rows of each task together, and return predictions in the order of the rows."""
        from mtbert.inference import answers
        from mtbert.inference.model import NotFiniteError

        numbers_of: dict[tuple[str, int], list[int]] = {}  # by task, '' for all, and number of texts: which rows
        for number, row in enumerate(rows):
            name, row_texts = row.get("task") or default_task, texts(row)
            if name is None and len(self.model.tasks) > 1:
                task, *_ = answers.that_take(self.model, len(row_texts))
                key = ("", len(row_texts))
            else:
                task = self.model.task(name)
                key = (task.name, len(task.sentences))
            if fault := answers.fault_of_row(answers.ANY_TASK[: len(task.sentences)], row_texts):
                raise DataError(f"row {number + 1}: {key[0] or self.model.name}: {fault}")
            numbers_of.setdefault(key, []).append(number)
        predictions: dict[int, dict[str, Any]] = {}  # by the row's number
        for (name, _), numbers in numbers_of.items():
            try:
                table = self.model.predict([texts(rows[number]) for number in numbers], name or None)
            except NotFiniteError as error:
                of_request = [numbers[number] for number in error.rows]
                raise NotFiniteError(error.source, of_request, error.fault) from None
            predictions |= zip(numbers, table.to_dict("records"), strict=True)
        return [predictions[number] for number in range(len(rows))]


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows, with None for what is missing."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def texts(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the texts of a row: its text, also where that is null, and its second text where there is one."""
    return (row["text"],) if row.get("text_pair") is None else (row["text"], row["text_pair"])


set_model(PyfuncModel())
