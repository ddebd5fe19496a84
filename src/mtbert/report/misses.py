"""What models get wrong: confusions, how far off, and the worst misses on the sample."""

import numpy as np
import pandas as pd

from mtbert.report import markdown
from mtbert.report.study import Study
from mtbert.results.tables import PROBABILITIES, Frame
from mtbert.tasks import TASKS, Task

WORST = 10  # misses shown of each task


def confusions(study: Study, task: str) -> dict[str, np.ndarray]:
    """Return by variant the number of dev rows [label, prediction], summed over seeds; none for scores."""
    classes, counts = max(TASKS[task].classes, 2), {}
    for variant, _, table in study.results.of(task, "dev") if TASKS[task].kind != "score" else ():
        table = table[table["scored"] & table["label"].notna()]
        at = table["label"].to_numpy(int) * classes + table["prediction"].to_numpy(int)
        of_run = np.bincount(at, minlength=classes**2).reshape(classes, classes)
        counts[variant] = counts.get(variant, 0) + of_run
    return {variant: of for variant, of in counts.items() if of.any()}


def distances(counts: np.ndarray) -> np.ndarray:
    """Return the share of rows whose predicted class is 0, 1, ... steps from the label, [classes]; of a confusion."""
    apart = np.abs(np.subtract.outer(np.arange(len(counts)), np.arange(len(counts))))
    return np.bincount(apart.ravel(), weights=counts.ravel(), minlength=len(counts)) / counts.sum()


def worst(study: Study, task: Task) -> Frame:
    """Return the rows that all runs together are surest of and wrong, or farthest from the label, the worst first.

    Returns:
        Columns text, label, prediction, and size: the probability of the wrong class, or the distance from the label.
    """
    tables = [table.set_index("row") for _, _, table in study.results.of(task.name, "dev")]
    tables = [table[table["scored"] & table["label"].notna()] for table in tables]
    if not tables:
        return pd.DataFrame(columns=["text", "label", "prediction", "size"])
    columns = ["prediction"] if task.kind == "score" else [*PROBABILITIES[: max(task.classes, 2)]]
    shared = tables[0].index
    for table in tables[1:]:
        shared = shared.intersection(table.index)
    values = np.mean([table.loc[shared, columns].to_numpy(float) for table in tables], axis=0)  # [rows, columns]
    rows = tables[0].loc[shared, ["text", "label"]]
    if task.kind == "score":
        rows = rows.assign(prediction=values[:, 0], size=np.abs(values[:, 0] - rows["label"]))
    else:
        said = values.argmax(axis=1)
        rows = rows.assign(prediction=said, size=np.where(said == rows["label"], 0.0, values.max(axis=1)))
    return rows[rows["size"] > 0].sort_values("size", ascending=False, kind="stable").head(WORST)


def render(study: Study) -> str:
    """Return the worst misses with their sentences, of the sample alone: its sentences are this project's own."""
    if study.results.data.whose != "sample":
        return ""
    parts = ["## Worst misses", "Rows that all runs together are surest of and wrong, or farthest from the label."]
    for task in TASKS.values():
        lines = [
            {
                "sentences": markdown.literal(str(row.text)),
                "label": f"{row.label:g}",
                "predicted": f"{row.prediction:.3g}",
            }
            | {"off by" if task.kind == "score" else "probability": f"{row.size:.2f}"}
            for row in worst(study, task).itertuples()
        ]
        parts += [f"**{task.title}**", markdown.lined(lines)] if lines else []
    return "\n\n".join(parts) if len(parts) > 2 else ""
