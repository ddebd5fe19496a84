"""The table that `mtbert study` prints: a line for each task."""

from collections import Counter
from collections.abc import Iterator, Sequence

from mtbert.data import several
from mtbert.data.readers import Example
from mtbert.errors import first_of
from mtbert.scores import metrics
from mtbert.study.understanding import CLASSES_SHOWN, SPLITS_OF_FOLDS, FolderTask
from mtbert.tasks import Split, Task


def in_lines(folder_tasks: Sequence[FolderTask]) -> str:
    """Return a line a task: its rows, columns, labels, metric, and the score of its most frequent class."""
    rows = [_cells(of_task) for of_task in folder_tasks]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("    ".join(cells).rstrip())
    return "\n".join(lines)


def _cells(folder_task: FolderTask) -> list[str]:
    task = folder_task.task
    counts = ", ".join(_counts(folder_task))
    if task.kind == "score":
        labels = f"score {task.lowest:g} to {task.highest:g}"
    else:
        kind = "labels, any number a row" if task.several else "classes"
        labels = f"{task.classes} {kind}: {first_of(task.class_names, CLASSES_SHOWN)}"
    score = _majority_score(task, folder_task.rows)
    majority = "\N{EN DASH}" if score is None else f"majority {score:.2f}"
    return [task.name, counts, ", ".join(task.sentences), labels, metrics.in_words(task), majority]


def _counts(folder_task: FolderTask) -> Iterator[str]:
    """Yield how many rows a task has, such as `160 train`, or `200 in 5 folds`."""
    rows, folds = folder_task.rows, folder_task.task.folds
    if folds:
        yield f"{sum(len(rows[split]) for split in SPLITS_OF_FOLDS):,} in {folds} folds"
    for split, of_split in rows.items():
        if not folds or split not in SPLITS_OF_FOLDS:
            yield f"{len(of_split):,} {split}"


def _majority_score(task: Task, rows: dict[Split, list[Example]]) -> float | None:
    """Return the dev score of always predicting train's most frequent class; None for a score."""
    if task.kind == "score":
        return None
    labels = [float(row.label or 0) for row in rows["dev"]]
    if task.several:
        return metrics.of_majority(task, several.counts(task, [row.label or 0.0 for row in rows["train"]]), labels)
    counts = Counter(row.label for row in rows["train"])
    return metrics.of_majority(task, [counts[number] for number in range(task.classes)], labels)
