"""What to do next with tasks of one's own: when a model may decide alone, and where it is wrong."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mtbert.judge import Answer, groups
from mtbert.judge.groups import Group, Grouping, Groups
from mtbert.report import markdown
from mtbert.scores import metrics
from mtbert.scores.columns import CONFIDENCE, UNCALIBRATED, Frame
from mtbert.scores.results import Results
from mtbert.stats.calibration import calibration
from mtbert.tasks import Task, main

TITLE = "What to do next"
THRESHOLDS = (0.8, 0.9, 0.95)
MOST_CLASSES = 12  # lines of a table
ABOUT_CONFIDENCE = (
    "**When may it decide alone?** With {}. *Calibration error*: how far the probability of the predicted class is, on "
    "average, from the share that is right (expected calibration error, ten bins; in brackets its 95 % interval over "
    "rows); *before* the temperature that held-out training rows fitted, and *after*. Then the share of rows that "
    "`mtbert predict --at-least` answers, and the share of these that is right."
)
NO_TEMPERATURE = "Where *before* is empty, no training rows were held out, and no temperature was fitted."
ABOUT_CLASSES = (
    "**Which classes are hard?** For each task, the classes with the lowest F1 (at most {}), and the class that each "
    "is most often taken for."
)
WRONG = "**Where is it wrong?** "
NOWHERE = (
    "It is not proved to be worse on any group of dev rows (by {}) than on the others, corrected for all groups (Holm)."
)
TOO_FEW = "No group of dev rows is large enough to tell: it needs 20 rows, and as many others."
SOMEWHERE = (
    "It is proved to be worse on these groups of dev rows than on all others, corrected for all groups (Holm): the "
    "share that is right, for scores the mean distance from the label."
)
COMMANDS = (
    "**Which labels are doubtful?** `mtbert doubtful` lists them. **How many more labels?** `mtbert study FOLDER "
    "--curve` estimates what twice as many bring."
)


def render(results: Results, answer: Answer | None, grouped: Mapping[str, Groups]) -> str:
    """Return the section as Markdown; empty for tasks that are not one's own.

    Args:
        results: those that are judged.
        answer: which way is to be kept; None shows all models.
        grouped: by task, groups of dev rows, beside the classes.
    """
    if results.data.kind != "own":
        return ""
    names, label = [*results.about], "all models"
    if answer is not None:
        way = answer.kept or answer.best
        names, label = [*way.names], f"*{markdown.literal(way.label)}*"
    parts = [_confidence(results, names, label), *_classes(results, names), _groups(results, names, grouped), COMMANDS]
    return "\n\n".join(filter(None, parts))


def _rows(results: Results, names: Sequence[str], task: str) -> Frame:
    rows = results.scored(task)
    return rows[rows["variant"].isin([*names])]


def _confidence(results: Results, names: Sequence[str], label: str) -> str:
    """Return calibration and coverage; empty where nobody kept the confidence of the models."""
    lines: list[dict[str, str]] = []
    for task in main(results.tasks):
        rows = _rows(results, names, task)
        if len(rows) and rows[CONFIDENCE].notna().all():
            lines.append(_line(rows, results.tasks[task]))
    if not lines:
        return ""
    lacks = any(line["before"] == markdown.DASH for line in lines)
    about = " ".join([ABOUT_CONFIDENCE.format(label), *([NO_TEMPERATURE] if lacks else [])])
    return f"{about}\n\n{markdown.lined(lines)}"


def _line(rows: Frame, task: Task) -> dict[str, str]:
    cells = {"task": markdown.literal(task.display_name)}
    for name, column in (("before", UNCALIBRATED), ("after", CONFIDENCE)):
        cells[name] = _calibration_error(rows, column)
    right = (rows["label"] == rows["prediction"]).to_numpy()
    cells["right, of all"] = f"{100 * right.mean():.0f} %"
    for threshold in THRESHOLDS:
        is_answered = rows[CONFIDENCE].to_numpy() >= threshold
        share = f"{100 * is_answered.mean():.0f} % answered"
        if is_answered.any():
            share += f", {100 * right[is_answered].mean():.0f} % right"
        cells[f"at least {threshold:g}"] = share
    return cells


def _calibration_error(rows: Frame, column: str) -> str:
    """Return the calibration error of predictions, whose probabilities are in `column`; of rows that all runs scored.

    A dash where there are no such rows, or a run has no probabilities.
    """
    right = (rows["label"] == rows["prediction"]).astype(float)
    by_run = rows.assign(right=right, variant=rows["variant"].astype(str)).set_index(["row", "variant", "seed"])
    table = by_run[[column, "right"]].unstack(["variant", "seed"]).dropna()
    if not len(table):
        return markdown.DASH
    clusters = rows.drop_duplicates("row").set_index("row")["cluster"].loc[table.index]
    probabilities, right = table[column].to_numpy(float), table["right"].to_numpy(float)
    error, (low, high) = calibration(probabilities, right, clusters.to_numpy())
    return f"{markdown.number(error)} [{markdown.number(low)}, {markdown.number(high)}]"


def _classes(results: Results, names: Sequence[str]) -> Iterator[str]:
    """Yield a table of each task with classes, and what it is before the first."""
    intro = ABOUT_CLASSES.format(MOST_CLASSES)
    for name in main(results.tasks):
        task, rows = results.tasks[name], _rows(results, names, name)
        if task.has_one_class and len(rows):
            lines = [{"task": markdown.literal(task.display_name), **line} for line in class_lines(rows, task)]
            yield f"{intro}\n\n{markdown.lined(lines[:MOST_CLASSES], texts=3)}".strip()
            intro = ""


def class_lines(rows: Frame, task: Task) -> list[dict[str, str]]:
    """Return a line for each class that rows have, over all seeds, that with the lowest F1 first."""
    labels, predicted = rows["label"].to_numpy(), rows["prediction"].to_numpy()
    seeds = rows.groupby(["variant", "seed"], observed=True).ngroups
    numbers = metrics.in_rows(labels, predicted, range(task.classes))
    lines: list[tuple[float, dict[str, str]]] = []
    for number in numbers:
        hits = np.sum((labels == number) & (predicted == number))
        of_label, of_prediction = np.sum(labels == number), np.sum(predicted == number)
        f1 = 2 * hits / (of_label + of_prediction)
        wrong = predicted[(labels == number) & (predicted != number)].astype(int)
        cells = {
            "class": markdown.literal(task.class_names[int(number)]),
            "taken for": markdown.literal(task.class_names[np.bincount(wrong).argmax()]) if len(wrong) else "",
            "dev rows": f"{of_label / seeds:.0f}",
            "precision": markdown.number(hits / of_prediction if of_prediction else None, decimals=2),
            "recall": markdown.number(hits / of_label if of_label else None, decimals=2),
            "F1": markdown.number(f1, decimals=2),
        }
        lines.append((f1, cells))
    return [cells for _, cells in sorted(lines, key=lambda line: line[0])]


def _groups(results: Results, names: Sequence[str], grouped: Mapping[str, Groups]) -> str:
    judged = groups.compare(results, names, grouped)
    if not judged:
        return WRONG + TOO_FEW
    lines = [_group_line(group) for group in judged if group.is_worse]
    if not lines:
        groupings = {group.by for group in judged}
        return WRONG + NOWHERE.format(", ".join(by for by in Grouping if by in groupings))
    return f"{WRONG}{SOMEWHERE}\n\n{markdown.lined(lines, texts=2)}"


def _group_line(group: Group) -> dict[str, str]:
    which = f"{markdown.literal(group.column)} is " if group.by == Grouping.COLUMN else f"{group.by.value}: "
    return {
        "task": markdown.literal(group.task.display_name),
        "rows": f"{which}{markdown.literal(group.name)}",
        "how many": str(group.rows),
        "here": markdown.number(group.inside, decimals=2),
        "elsewhere": markdown.number(group.outside, decimals=2),
        "p": "below 0.001" if group.p < 0.001 else f"{group.p:.3f}",
    }
