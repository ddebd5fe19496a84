"""The report's first picture: each question's difference with its interval, and the published one."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mtbert.replication import questions_section
from mtbert.replication.judging import ClaimComparison, ClaimResult
from mtbert.report import markdown
from mtbert.report.pictures import drawing

OURS, GHOST, PUBLISHED = "#2b6a99", "#8fb6d3", "#b2402a"
EDGE = 0.06  # largest difference that the picture of differences shows; beyond, arrows
WRAP, NARROW_WRAP = 44, 56  # letters of a line beside a picture, and above the lines of a narrow one


def write(results: Sequence[ClaimResult], folder: Path) -> None:
    """Draw the picture of the questions that ran into a report's folder; the report's first section shows it."""
    ran = questions_section.that_ran(results)
    if ran:
        parts = {questions_section.question(result): result.parts[0] for result in ran}
        drawing.put(_drawn(parts), folder, questions_section.PICTURE, "", "", dots=2 * 72)
        drawing.put_narrow(_drawn(parts, is_narrow=True), folder, questions_section.PICTURE)


def _drawn(parts: dict[str, ClaimComparison], is_narrow: bool = False) -> Figure:
    """A line for each comparison, by label: ours with its interval, and what it is to be held against."""
    figure = drawing.empty(1.2 + 0.42 * len(parts))
    if is_narrow:
        figure = drawing.empty(1.6 + 0.75 * len(parts), drawing.NARROW)
    axes = figure.subplots()
    for height, part in enumerate(parts.values()):
        _draw_part(axes, height, part, band=0.5 if is_narrow else 0.8)
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    drawing.label_lines(axes, [textwrap.fill(label, NARROW_WRAP if is_narrow else WRAP) for label in parts], is_narrow)
    axes.set_xlim(-1.12 * EDGE, 1.12 * EDGE)
    axes.set_xticks(np.linspace(-EDGE, EDGE, 7))
    axes.xaxis.set_major_formatter(lambda x, _: markdown.number(x, "+", 2) if round(x, 3) else "0")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    between = "\n" if is_narrow else " "
    axes.set_xlabel(f"ours: the first side less the second;{between}right of 0, the first is better", fontsize="small")
    marks, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, marks, strict=True))  # each kind of mark once
    figure.legend(
        by_label.values(),
        by_label.keys(),
        loc="outside upper center",
        ncols=2 if is_narrow else 6,
        frameon=False,
        fontsize="small",
    )
    return figure


def _draw_part(axes: Axes, height: int, part: ClaimComparison, band: float) -> None:
    """Draw the line of a comparison: the margin as a band so high, the published difference, and ours if it was run."""
    margin, difference = part.part.margin, part.difference
    axes.barh(height, 2 * margin, band, -margin, color="0.9", zorder=0, label="too little to matter")
    hollow = {"label": "published", "markersize": 7, "fillstyle": "none"}
    _mark(axes, part.part.published, height, "D", PUBLISHED, beyond=height + 0.25, **hollow)
    if difference is None:
        return
    if part.third is not None:
        _mark(axes, part.third, height, "o", GHOST, label="at a third of the training", markersize=6)
    if difference.interval:
        ends = np.clip(difference.interval, -1.06 * EDGE, 1.06 * EDGE)
        axes.plot(ends, [height, height], color=OURS, linewidth=2, label="95 % interval")
    _mark(axes, difference.mean, height, "o", OURS, beyond=height - 0.25, label="ours", markersize=7)


def _mark(
    axes: Axes, value: float | None, height: float, marker: str, colour: str, beyond: float | None = None, **look: Any
) -> None:
    """Draw a value; past the edge an arrow with its number, at the height `beyond`."""
    if value is None:
        return
    if abs(value) <= EDGE:
        axes.plot(value, height, marker, color=colour, **look)
        return
    if beyond is not None:
        height = beyond
    side, arrow, align = (1, ">", "right") if value > 0 else (-1, "<", "left")
    axes.plot(side * EDGE * 1.06, height, arrow, color=colour, markersize=7)
    number = markdown.number(value, "+", 2)
    axes.text(side * EDGE * 1.02, height, number, ha=align, va="center", color=colour, fontsize="small")
