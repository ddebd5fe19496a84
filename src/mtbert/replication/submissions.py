"""Prediction files to the course's submission files, which its own grader reads.

Source: the starter code of Stanford CS224N's default project (multitask_classifier.py, evaluation.py), whose lines
these are: a header `id \\t TITLE \\n`, then `ID , PREDICTION \\n` for each row. Sentiment is a whole number; the
paraphrase class is a rounded probability, so 0.0 or 1.0; similarity is a real number.
"""

from pathlib import Path

from mtbert import files
from mtbert.scores.columns import Frame
from mtbert.scores.results import Results
from mtbert.tasks import Task

STEMS = {"qqp": "para"}  # the course's name of a task in file names, where it is not ours


def text(table: Frame, task: Task) -> str:
    """A prediction table in the course's format, in the table's order of rows."""
    as_written = int if task.kind == "classes" else float
    rows = zip(table["id"].tolist(), table["prediction"].tolist(), strict=True)
    lines = [f"{row} , {as_written(value)} \n" for row, value in rows]
    return "".join([f"id \t {task.submission} \n", *lines])


def write(results: Results, directory: Path) -> None:
    """Write `directory` anew: <variant or ensemble>/<seed>/<file> for every predicted task of the course."""
    with files.new_directory(directory) as partial:
        for (variant, seed, split), tables in results.by_run.items():
            for task, table in tables.items():
                if results.tasks[task].submission and split != "train":
                    file = f"{STEMS.get(task, task)}-{split}-output.csv"
                    files.write_text(partial / variant / str(seed) / file, text(table, results.tasks[task]))
