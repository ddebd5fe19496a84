"""Where each part of the evidence lies, and what a column of it is called."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert import files
from mtbert.tasks import Task

NAME = "evidence"
TEXTS = ("metrics.json", "settings.yaml", "history.csv", files.ELSEWHERE)  # of a run: kept word for word
PLAN = "plan/catalog.yaml"
COUNTS = "data/report.json"
DEV_ROWS = "dev-rows.parquet"
ROW = ["id", "label", "scored"]
OTHERWISE = "/scored"  # ends the column that says which rows a run scores, where it is not those of the first run
SHARED = ["cluster", "in_train", "in_pretraining", "shares"]  # of a dev row


def place(build: Path, run: Mapping[str, Any]) -> Path:
    """Where a run or vote of runs.parquet lies below a build directory."""
    return build / ("ensembles" if run["kind"] == "ensemble" else "runs") / run["name"] / str(run["seed"])


def has_probabilities(task: Task, split: str) -> bool:
    """Whether the probabilities of a split's predictions are kept."""
    return split == "dev" and task.kind != "score"


def write(table: pd.DataFrame, file: Path) -> None:
    """Write a table in as few bytes as Parquet can."""
    with files.new_file(file) as partial:
        table.to_parquet(partial, index=False, compression="zstd", compression_level=19)
