"""Confusion matrices: what share of each label was taken for what."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from mtbert.reporting.mistakes import Answers
from mtbert.reporting.pictures import Picture, first, grid, groups
from mtbert.reporting.sections.base import Part, Report, Section
from mtbert.tasks import TASKS


def choices(report: Report) -> dict[str, dict[str, dict[str, list[list[int]]]]]:
    """Number of rows by label and prediction, for each task of classes and each variant that is shown by itself."""
    by_task = {task: by_variant for task, by_variant in report.answers.items() if TASKS[task].kind != "score"}
    detailed = {entry.name for entry in report.completed.detailed}
    shown: dict[str, dict[str, list[list[int]]]] = {}
    for task, by_variant in by_task.items():
        counts = {name: said.confusion.tolist() for name, said in by_variant.items() if name in detailed}
        if counts:
            shown[task] = counts
    return {"confusions": shown}


def pictures(report: Report) -> Iterator[Picture]:
    """One picture a task of classes, of each paper's variants."""
    for group in groups(report.completed):
        for task, by_variant in group.of(report.answers).items():
            if TASKS[task].kind != "score":
                yield picture(task, by_variant, group.paper, group.title)


def picture(task: str, by_variant: dict[str, Answers], paper: str, title: str) -> Picture:
    """A panel a variant: what share of each label (a row) was taken for what."""
    shown = f"{title}: {TASKS[task].title} dev labels (rows) and predictions (columns), share of the label"
    panels, shown = first({name: said.confusion for name, said in by_variant.items()}, shown)
    return Picture(f"{paper}-confusion-{task}", shown, partial(draw, panels), paper)


def draw(panels: dict[str, np.ndarray]) -> Drawing:
    """The panels of a picture."""
    return grid(panels, _shares_of_labels)


def _shares_of_labels(axes: Axes, counts: np.ndarray) -> None:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 0.5 else "black"
        axes.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize="x-small", color=colour)
    labels = range(len(shares))
    axes.set_xticks(labels, [f"{label}" for label in labels], fontsize="xx-small")
    axes.set_yticks(labels, [f"{label}" for label in labels], fontsize="xx-small")
    axes.tick_params(length=0, pad=2)
    axes.set_xlabel("predicted", fontsize="xx-small", labelpad=1)
    axes.set_ylabel("label", fontsize="xx-small", labelpad=1)


SECTION = Section(
    name="confusions",
    title="Confusions",
    pictures=pictures,
    part=Part("confusions.html", lambda report, _: {"answers": report.answers}, choices=choices),
)
