"""Prediction files to the course's submission files, which its own grader reads.

Source: the starter code of Stanford CS224N's default project (multitask_classifier.py, evaluation.py), whose lines
these are: a header `id \\t TITLE \\n`, then `ID , PREDICTION \\n` for each row. Sentiment is a whole number; the
paraphrase class is a rounded probability, so 0.0 or 1.0; similarity is a real number.
"""

import itertools
from pathlib import Path

import pandas as pd

from mtbert import files
from mtbert.reporting.catalog import Completed
from mtbert.tasks import TASKS, Split, Task

SUBMITTED_SPLITS: tuple[Split, ...] = ("dev", "test")
STEMS = {"qqp": "para"}  # the course's name of a task in file names, where it is not ours


def file_name(task: str, split: Split) -> str:
    """Such as `para-test-output.csv`."""
    return f"{STEMS.get(task, task)}-{split}-output.csv"


def text(table: pd.DataFrame, task: Task) -> str:
    """A prediction table in the course's format, in the table's order of rows."""
    as_written = int if task.kind == "classes" else float
    rows = zip(table["id"].tolist(), table["prediction"].tolist(), strict=True)
    lines = [f"{row} , {as_written(value)} \n" for row, value in rows]
    return "".join([f"id \t {task.submission} \n", *lines])


def write(build: Path, completed: Completed, directory: Path) -> None:
    """Write `directory` anew: <variant or ensemble>/<seed>/<file> for every predicted task of the course."""
    with files.new_directory(directory) as partial:
        for entry, seed in completed.runs:
            submitted = [TASKS[name] for name in entry.tasks if TASKS[name].submission]
            for task, split in itertools.product(submitted, SUBMITTED_SPLITS):
                source = entry.predictions(build, seed, task.name, split)
                if source is not None:
                    target = partial / entry.name / str(seed) / file_name(task.name, split)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(
                        text(files.read_parquet(source, ["id", "prediction"]), task), encoding="utf-8", newline="\n"
                    )
