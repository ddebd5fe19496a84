"""The corpora: what their check found, and how much of a score is memory.

A score is computed again without `duplicates`, dev rows whose sentences are a row of train (case, spacing and
punctuation dropped); without these and rows of which one sentence is in train, `shared`; and without `pretraining`,
rows that are in SNLI or MNLI, from which sentence encoders learn.
"""

import pandas as pd

from mtbert import predictions
from mtbert.report import markdown
from mtbert.report.study import Study
from mtbert.results.tables import Frame
from mtbert.tasks import TASKS

COLUMNS = ["variant", "task", "without", "rows", "left_out", "score", "score_without", "change"]
WITHOUT = {  # by name: what is left out, in words
    "duplicates": "rows that are in train",
    "shared": "these, and rows that share a sentence with train",
    "pretraining": "rows that are in SNLI or MNLI",
}


def render(study: Study) -> str:
    """Return what the check of the data found; empty where it is not known."""
    report = study.results.data.report
    files = [
        {"file": markdown.literal(name), "labels": "yes" if counts.labelled else "withheld"}
        | {"read": f"{counts.read:,}", "kept": f"{counts.kept:,}", "refused": f"{len(counts.refused):,}"}
        | {"duplicates": f"{counts.duplicates.folded:,}", "conflicts": f"{len(counts.conflicts):,}"}
        for name, counts in (report.files if report else {}).items()
    ]
    about = "Duplicates: rows whose sentences an earlier row has; conflicts: such rows with different labels."
    return f"{about}\n\n{markdown.lined(files, 2)}" if files else ""


def leakage(study: Study) -> Frame:
    """Return leakage.csv: a line for each variant, task and thing that is left out; means over seeds."""
    lines = []
    for task in TASKS:
        for variant, _, table in study.results.of(task, "dev"):
            table = table[table["scored"] & table["label"].notna()]
            out = {"duplicates": table["in_train"], "shared": table["in_train"] | table["shares"]}
            for without, gone in (out | {"pretraining": table["in_pretraining"]}).items():
                if gone.any() and not gone.all():
                    scores = [predictions.score(part, TASKS[task]) for part in (table, table[~gone])]
                    lines.append((variant, task, without, len(table), int(gone.sum()), *scores))
    keys = ["task", "variant", "without", "rows", "left_out"]
    table: Frame = pd.DataFrame(lines, columns=COLUMNS[:-1])
    means: Frame = table.groupby(keys, sort=False, as_index=False).mean()
    return means.assign(change=means["score_without"] - means["score"])[COLUMNS]


def render_leakage(table: Frame) -> str:
    """Return by task what is left out, of how many rows, and the mean and the largest change over variants."""
    lines = []
    for (task, without, rows, left_out), group in table.groupby(["task", "without", "rows", "left_out"], sort=False):
        most = group.loc[group["change"].abs().idxmax()]
        lines.append({
            "task": TASKS[task].title, "without": WITHOUT[without], "rows": f"{left_out:,} of {rows:,}",
            "mean change": markdown.number(group["change"].mean(), "+"),
            "largest": f"{markdown.number(most['change'], '+')} ({most['variant']})",
        })  # fmt: skip
    about = "Dev scores without rows that a model may have seen before, less those with them, over all variants."
    return f"{about}\n\n{markdown.lined(lines, 2)}" if lines else ""
