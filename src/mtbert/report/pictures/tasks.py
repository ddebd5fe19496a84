"""Each task with the way to keep: which classes are taken for which, the surest errors, and dev scores by step."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mtbert.report import markdown
from mtbert.report.answer import Answer, Way
from mtbert.report.pictures import drawing
from mtbert.report.sentences import Sentences
from mtbert.results.tables import SURE, Frame
from mtbert.tasks import Task

SUREST = 10  # errors of each task
MOST_CLASSES = 12  # of a table
ABOUT = (
    "With *{}*, the mean over seeds. A line holds the rows of a class, in per cent of them what they are taken for. "
    "Below are the errors of which the models are surest; of scores, those that are farthest off."
)
OF_CURVES = "Dev scores while the models train; the last is of the model that is kept."


def render(answer: Answer, folder: Path, sentences: Sentences) -> str:
    """Draw the curves into a report's folder; return them and each task's tables as Markdown."""
    way, parts = answer.shown, list[str]()
    for name in answer.tasks:
        task = answer.study.results.tasks[name]
        rows = _rows(answer, way, name)
        errors = surest(rows, task)
        tables = [markdown.lined([*_confused(rows, task)]), markdown.lined(_told(errors, task, sentences.get(name)))]
        parts += [f"**{markdown.literal(task.shown)}**", *filter(None, tables)]
    curves = {way.label: found for way in answer.ways if (found := _curves(answer, way))}
    drawn = [drawing.put(_drawn(answer, curves), folder, "curves", OF_CURVES, "Dev scores by step")] if curves else []
    return "\n\n".join([ABOUT.format(markdown.literal(way.label)), *parts, *drawn])


def _rows(answer: Answer, way: Way, task: str) -> Frame:
    """Return the scored dev rows of a way on a task, of all seeds."""
    every = answer.study.results.predictions
    own = every["variant"].isin([*way.group.names]) & (every["task"] == task) & (every["split"] == "dev")
    return every[own & every["scored"] & every["label"].notna()]


def confusion(rows: Frame, classes: int) -> np.ndarray:
    """Return the share of each class's rows that is predicted as each class, [label, prediction]; 0 without rows."""
    counts = np.zeros((classes, classes))
    np.add.at(counts, (rows["label"].to_numpy(int), rows["prediction"].to_numpy(int)), 1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _confused(rows: Frame, task: Task) -> Iterator[dict[str, str]]:
    if task.kind == "score" or task.classes > MOST_CLASSES:
        return
    names = [markdown.literal(name) for name in task.class_names]
    for name, shares in zip(names, confusion(rows, task.classes), strict=True):
        yield {"class": name} | {other: f"{100 * share:.0f}" for other, share in zip(names, shares, strict=True)}


def surest(rows: Frame, task: Task) -> Frame:
    """Return by number of the row its id, label, most frequent or mean prediction and how sure or far off it is."""
    if task.kind == "score":
        means = rows.groupby("row").agg({"id": "first", "label": "first", "prediction": "mean"})
        means["off"] = (means["prediction"] - means["label"]).abs()
    else:
        wrong = rows[rows["label"] != rows["prediction"]]
        wrong = wrong.assign(off=wrong[SURE] / rows["seed"].nunique())
        sums = wrong.groupby(["row", "prediction"]).agg({"id": "first", "label": "first", "off": "sum"}).reset_index()
        means = sums.sort_values("off", kind="stable").drop_duplicates("row", keep="last").set_index("row")
    return means[means["off"] > 0].sort_values("off", ascending=False, kind="stable").head(SUREST)


def _told(errors: Frame, task: Task, texts: Sequence[str] | None) -> list[dict[str, str]]:
    names, lines = task.class_names, list[dict[str, str]]()
    for number, row in zip(errors.index.tolist(), errors.to_dict("records"), strict=True):
        what = ("id", row["id"]) if texts is None else ("text", texts[number])
        shown = {what[0]: markdown.literal(str(what[1]))}
        if names:
            label, said = (markdown.literal(names[int(row[key])]) for key in ("label", "prediction"))
            lines.append(shown | {"label": label, "predicted": said, "sure": markdown.number(row["off"], decimals=2)})
        else:
            label, said = (markdown.number(row[key], decimals=2) for key in ("label", "prediction"))
            lines.append(shown | {"label": label, "predicted": said, "off by": markdown.number(row["off"], decimals=2)})
    return lines


def _curves(answer: Answer, way: Way) -> dict[str, Frame]:
    """Return the mean dev score of each task by the share of the training that is done."""
    history = answer.study.results.history
    own = history[history["variant"].isin([*way.group.names])]
    found: dict[str, Frame] = {}
    for task in answer.tasks:
        of_task = own[own["name"] == f"dev/{task}"]
        if len(of_task):
            last = own.groupby(["variant", "seed"], observed=True)["step"].transform("max")[of_task.index]
            done = (of_task["step"] / last).round(3)
            found[task] = pd.Series(of_task["value"].to_numpy(), done).groupby(level=0).mean()
    return found


def _drawn(answer: Answer, curves: dict[str, dict[str, Frame]]) -> Figure:
    """A panel for each task, a line for each of the best ways."""
    down = -(-len(answer.tasks) // 3)
    figure = drawing.empty(0.6 + 2.6 * down)
    shown, lines = dict(list(curves.items())[: len(drawing.PALETTE)]), {}
    for at, task in enumerate(answer.tasks, 1):
        axes = figure.add_subplot(down, 3, at)
        for colour, (label, of_way) in zip(drawing.PALETTE, shown.items(), strict=False):
            if task in of_way:
                (lines[label],) = axes.plot(of_way[task].index, of_way[task], "o-", color=colour, markersize=3)
        axes.set_title(answer.study.results.tasks[task].shown, fontsize="medium")
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend([*lines.values()], [*lines], loc="outside lower center", ncols=3, frameon=False)
    return figure
