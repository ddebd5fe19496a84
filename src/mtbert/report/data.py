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
        | {"read": f"{counts.read:,}", "kept": f"{counts.kept:,}", "refused": f"{counts.refused:,}"}
        | {"duplicates": f"{counts.duplicates.folded:,}", "conflicts": f"{counts.conflicts:,}"}
        for name, counts in (report.files if report else {}).items()
    ]
    about = "Duplicates: rows whose sentences an earlier row has; conflicts: such rows with different labels."
    return f"{about}\n\n{markdown.lined(files, 2)}" if files else ""


def leakage(study: Study) -> str:
    """Return by task what is left out, of how many rows, and the mean and the largest change over variants."""
    lines = []
    for (task, without, rows, left_out), changes in _changes(study).groupby(level=[0, 1, 2, 3], sort=False):
        most = changes.abs().idxmax()
        lines.append({
            "task": TASKS[task].title, "without": WITHOUT[without], "rows": f"{left_out:,} of {rows:,}",
            "mean change": markdown.number(changes.mean(), "+"),
            "largest": f"{markdown.number(changes[most], '+')} ({most[-1]})",
        })  # fmt: skip
    about = (
        "How dev scores change without rows that a model may have seen before: the mean over variants, and the largest."
    )
    return f"{about}\n\n{markdown.lined(lines, 2)}" if lines else ""


def _changes(study: Study) -> Frame:
    """Return the mean change over seeds by task, what is left out, rows, how many are left out, and variant."""
    lines = []
    for task in TASKS:
        for variant, _, table in study.results.of(task, "dev"):
            table = table[table["scored"] & table["label"].notna()]
            out = {"duplicates": table["in_train"], "shared": table["in_train"] | table["shares"]}
            for without, gone in (out | {"pretraining": table["in_pretraining"]}).items():
                if gone.any() and not gone.all():
                    scores = [predictions.score(part, TASKS[task]) for part in (table, table[~gone])]
                    lines.append((task, without, len(table), int(gone.sum()), variant, *scores))
    keys = ["task", "without", "rows", "left_out", "variant"]
    scored = pd.DataFrame(lines, columns=[*keys, "with", "change"])
    return scored.assign(change=scored["change"] - scored["with"]).groupby(keys, sort=False)["change"].mean()
