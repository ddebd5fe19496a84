"""Scores with and without the rows that a model may have seen before: how much of a score is memory.

What is left out: `duplicates`, dev rows whose sentences are a row of train (case, spacing and punctuation dropped, in
either order); `shared`, those too of which any one sentence occurs in train; `pretraining`, those whose sentences are a
training row of SNLI or MNLI, from which sentence encoders learn.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from mtbert import files, metrics
from mtbert.reporting import markdown
from mtbert.reporting.catalog import Completed
from mtbert.reporting.evidence import TaskScores
from mtbert.reporting.sections.base import Numbers, Report, Section, once
from mtbert.tasks import TASKS

COLUMNS = ["variant", "task", "without", "rows", "left_out", "score", "score_without", "change"]
WITHOUT = {  # by name: what is left out, in words
    "duplicates": "rows that are in train",
    "shared": "these, and rows that share a sentence with train",
    "pretraining": "rows that are in SNLI or MNLI",
}


@once
def scores(report: Report) -> pd.DataFrame:
    """One line for each variant or ensemble, task and thing that is left out; means over seeds.

    Returns:
        COLUMNS: rows that count, how many of them are left out, the score on all and on the rest, and their difference.
        Nothing for a task in which nothing is to be left out.
    """
    lines: list[list] = []
    for task, of_task in report.evidence.tasks.items():
        file = report.build / "data" / task / "dev-rows.parquet"
        for scored in of_task if file.is_file() else ():
            lines += _of_task(report.completed, task, scored, flags(file).iloc[scored.at])
    return pd.DataFrame(lines, columns=COLUMNS)


def flags(file: Path) -> pd.DataFrame:
    """Whether each row is left out, bool; a column for each of WITHOUT. `file` is of `preprocess`."""
    rows = files.read_parquet(file, ["in_train", "in_pretraining", "shares"])
    duplicates = rows["in_train"] != ""
    return pd.DataFrame(
        {"duplicates": duplicates, "shared": duplicates | rows["shares"], "pretraining": rows["in_pretraining"] != ""}
    )


def _of_task(completed: Completed, task: str, scored: TaskScores, leaked: pd.DataFrame) -> list[list]:
    lines = []
    for entry in completed.ran:
        predicted = scored.predicted[:, [at for run, at in scored.column.items() if run[0] == entry.name]]
        for name in WITHOUT if predicted.size else ():
            out = leaked[name].to_numpy()
            if out.any() and not out.all():
                on_all, on_rest = (_mean(task, scored.labels[kept], predicted[kept]) for kept in (slice(None), ~out))
                lines.append([entry.name, task, name, len(out), int(out.sum()), on_all, on_rest, on_rest - on_all])
    return lines


def _mean(task: str, labels: np.ndarray, predicted: np.ndarray) -> float:
    """The score of each seed's predictions, rows x seeds, and its mean."""
    return float(np.mean([metrics.SCORES[TASKS[task].metric](labels, of_seed) for of_seed in predicted.T]))


def render(report: Report) -> str:
    """By task, what is left out and of how many rows, the mean and the largest change over variants."""
    table = scores(report)
    if table.empty:
        return ""
    lines = []
    keys = list(table[["task", "without", "rows", "left_out"]].itertuples(index=False, name=None))
    for key in dict.fromkeys(keys):
        task, without, rows, left_out = key
        group = table.loc[[of_line == key for of_line in keys]]
        most = group.iloc[group["change"].abs().argmax()]
        lines.append(
            {
                "task": TASKS[task].title,
                "without": WITHOUT[without],
                "rows": f"{left_out:,} of {rows:,}",
                "mean change": markdown.number(float(group["change"].mean()), "+"),
                "largest": f"{markdown.number(float(most['change']), '+')} ({most['variant']})",
            }
        )
    sides = ("left", "left", *["right"] * 3)
    grid = pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)
    about = (
        "Dev scores without the rows that a model may have seen before, less those in the tables. A line is over all "
        "variants whose scores count as many dev rows: with `run.selection: half` these are half of dev."
    )
    return f"## Leakage\n\n{about} Each variant: [leakage.csv](../leakage.csv).\n\n{grid}"


SECTION = Section(
    name="leakage",
    about="leakage",
    markdown=render,
    numbers=(Numbers("leakage.csv", scores, "%.6f", "compared"),),
    inside="data",
)
