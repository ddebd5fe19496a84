"""The course's files, byte for byte as its starter code writes them."""

import pandas as pd
import pytest

from mtbert.reporting import submissions
from mtbert.tasks import TASKS


@pytest.mark.parametrize(
    ("task", "values", "expected"),
    [
        ("sst", [4.0, 0.0], "id \t Predicted_Sentiment \na , 4 \nb , 0 \n"),
        ("qqp", [1.0, 0.0], "id \t Predicted_Is_Paraphrase \na , 1.0 \nb , 0.0 \n"),
        ("sts", [4.75, 0.5], "id \t Predicted_Similiary \na , 4.75 \nb , 0.5 \n"),
    ],
)
def test_format(task: str, values: list[float], expected: str) -> None:
    table = pd.DataFrame({"id": ["a", "b"], "prediction": values})
    assert submissions.text(table, TASKS[task]) == expected


def test_names() -> None:
    names = [submissions.file_name(task, split) for task in ("sst", "qqp", "sts") for split in ("dev", "test")]
    assert names == [
        "sst-dev-output.csv", "sst-test-output.csv", "para-dev-output.csv", "para-test-output.csv",
        "sts-dev-output.csv", "sts-test-output.csv",
    ]  # fmt: skip
