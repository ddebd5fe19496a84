"""Scores with and without the rows that a model may have seen before: how much of a score is memory.

What is left out: `duplicates`, dev rows whose sentences are a row of train (case, spacing and punctuation dropped, in
either order); `shared`, those too of which any one sentence occurs in train; `pretraining`, those whose sentences are a
training row of SNLI or MNLI, from which sentence encoders learn.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mtbert import files, metrics, predictions
from mtbert.reporting import markdown
from mtbert.reporting.catalog import Catalog
from mtbert.tasks import TASKS

COLUMNS = ["variant", "task", "without", "rows", "left_out", "score", "score_without", "change"]
WITHOUT = {  # by name: what is left out, in words
    "duplicates": "rows that are in train",
    "shared": "rows that share a sentence with train",
    "pretraining": "rows that are in SNLI or MNLI",
}


def scores(build: Path, catalog: Catalog) -> pd.DataFrame:
    """One line for each variant or ensemble, task and thing that is left out; means over seeds.

    Returns:
        COLUMNS: rows that count, how many of them are left out, the score on all and on the rest, and their difference.
        Nothing for a task in which nothing is to be left out.
    """
    lines = [
        line
        for task in (name for name in TASKS if (build / "data" / name / "dev-rows.parquet").is_file())
        for line in _of_task(build, catalog, task, flags(build / "data" / task / "dev-rows.parquet"))
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def flags(file: Path) -> pd.DataFrame:
    """Whether each row, by id, is left out, bool; a column for each of WITHOUT. `file` is of `preprocess`."""
    rows = files.read_parquet(file, ["id", "in_train", "in_pretraining", "shares"]).set_index("id")
    duplicates = rows["in_train"] != ""
    return pd.DataFrame(
        {"duplicates": duplicates, "shared": duplicates | rows["shares"], "pretraining": rows["in_pretraining"] != ""}
    )


def _of_task(build: Path, catalog: Catalog, task: str, leaked: pd.DataFrame) -> list[list]:
    lines = []
    for entry in (entry for entry in catalog.selected if task in entry.tasks):
        tables = [_table(predictions.path(entry.directory(build, seed), task, "dev"), leaked) for seed in entry.seeds]
        found = {name: _means(tables, name, metrics.SCORES[TASKS[task].metric]) for name in WITHOUT}
        lines += [[entry.name, task, name, *means] for name, means in found.items() if means is not None]
    return lines


def _table(file: Path, leaked: pd.DataFrame) -> pd.DataFrame:
    """The rows of a prediction file that count: label, prediction, and whether each is left out."""
    table = files.read_parquet(file, ["id", "label", "prediction", "scored"]).set_index("id")
    table = table.loc[table["scored"]]
    return table.join(leaked.reindex(table.index, fill_value=False))


def _means(
    tables: Sequence[pd.DataFrame], name: str, score: Callable[[np.ndarray, np.ndarray], float]
) -> list[float] | None:
    """Rows, rows left out, score, score without and their difference, means over seeds; None for none left out."""
    found = []
    for table in tables:
        label, guess, out = (table[column].to_numpy() for column in ("label", "prediction", name))
        if not out.any() or out.all():
            return None
        found.append((len(out), out.sum(), score(label, guess), score(label[~out], guess[~out])))
    rows, left_out, on_all, on_rest = np.mean(found, axis=0)
    return [int(rows), int(left_out), on_all, on_rest, on_rest - on_all]


def render(table: pd.DataFrame) -> str:
    """In short, as Markdown: by task and what is left out, the mean and the largest change over variants."""
    if table.empty:
        return ""
    lines = []
    for task, without in dict.fromkeys(zip(table["task"], table["without"], strict=True)):
        group = table.loc[(table["task"] == task) & (table["without"] == without)]
        most = group.iloc[group["change"].abs().argmax()]
        lines.append(
            {
                "task": TASKS[task].title,
                "without": WITHOUT[without],
                "rows": f"{most['left_out']:,} of {most['rows']:,}",
                "mean change": markdown.number(float(group["change"].mean()), "+"),
                "largest": f"{markdown.number(float(most['change']), '+')} ({most['variant']})",
            }
        )
    sides = ("left", "left", *["right"] * 3)
    grid = pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)
    said = "Dev scores without the rows that a model may have seen before, less those in the tables, over all variants."
    return f"## Leakage\n\n{said} Each variant: [leakage.csv](leakage.csv).\n\n{grid}"
