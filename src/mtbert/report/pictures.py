"""Pictures, one function a kind."""

import io
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from mtbert import files
from mtbert.claims import ClaimResult, PartResult
from mtbert.report import claims, front, markdown
from mtbert.report.study import Group, Study, title
from mtbert.results.tables import Frame
from mtbert.tasks import TASKS

COLOURS = 48  # of a picture's file, which makes it a third as large
DOTS = 72  # an inch; the report's first picture has twice as many of both
PANELS = 8  # of a picture of places; the variants of a paper in its tables' order
OURS, GHOST, PUBLISHED = "#2b6a99", "#8fb6d3", "#b2402a"
EDGE = 0.06  # largest difference that a picture of differences shows
WRAP = 44  # letters of a line beside a picture
PAIRS = (("similarity 4 to 5", 4.0, 5.0), ("0 to 1", 0.0, 1.0))  # of STS-B: lines between a pair's sentences


def write(
    study: Study, judged: Sequence[ClaimResult], questions: Sequence[ClaimResult], folder: Path
) -> dict[str, str]:
    """Draw every picture that the results have something for; return their titles by name, without the questions'."""
    if questions:
        asked = _differences({front.asked(one): one.parts[0] for one in questions})
        _save(asked, folder / f"{front.PICTURE}.png", fineness=2)
    titles = {}
    for name, said, figure in _all(study, judged):
        _save(figure, folder / f"{name}.png")
        titles[name] = said
    return titles


def _save(figure: Figure, file: Path, fineness: int = 1) -> None:
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=fineness * DOTS, metadata={"Software": None})
    small = Image.open(buffer).convert("RGB").quantize(fineness * COLOURS, dither=Image.Dither.NONE)
    file.parent.mkdir(parents=True, exist_ok=True)
    with files.new_file(file) as partial:
        small.save(partial, "PNG", optimize=True)


def _all(study: Study, judged: Sequence[ClaimResult]) -> Iterator[tuple[str, str, Figure]]:
    """Yield name, title and figure of each picture but the questions'."""
    if rows := [row for row in study.rows if "overall_raw" in row.means]:
        yield "costs", "Overall score on dev against weights, with 95 % intervals", _costs(rows)
    for paper in dict.fromkeys(one.claim.paper for one in judged):
        parts = [part for one in judged if one.claim.paper == paper for part in one.parts if part.difference]
        figure = _differences({claims.pair(part.part): part for part in parts})
        yield f"claims-{paper}", f"{title(paper)}: differences that it claims", figure
    placed = {task: _placed(study, task) for task in ("sst", "sts")}
    for paper in dict.fromkeys(about.paper for about in study.about.values()):
        names = [name for name, about in study.about.items() if about.paper == paper]
        for task, of in placed.items():
            if panels := {name: of[name] for name in names[:PANELS] if name in of}:
                said = f"{title(paper)}: {TASKS[task].title} dev sentences by t-SNE; neighbours tell, places do not"
                yield f"{paper}-embeddings-{task}", said, _grid(panels)


def _placed(study: Study, task: str) -> dict[str, Frame]:
    """By variant, the dev rows that have a place: those of one seed."""
    tables = ((name, table[table["x"].notna()]) for name, _, table in study.results.of(task, "dev"))
    return {name: table for name, table in tables if len(table)}


def _grid(panels: dict[str, Frame]) -> Figure:
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(2.6 * columns, 2.6 * rows), layout="constrained")
    every = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (name, shown) in zip(every, panels.items(), strict=False):
        _places(axes, shown)
        axes.set_title(name, fontsize="small")
    for axes in every[len(panels) :]:
        axes.set_axis_off()
    return figure


def _costs(rows: list[Group]) -> Figure:
    """The overall score against weights, by powers of ten; the names stand in the table."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        overall = row.means["overall_raw"]
        bar = overall.interval and overall.interval[1] - overall.mean
        x = max(row.weights["trained"] / 1e6, 1e-3)
        axes.errorbar(x, overall.mean, yerr=bar, fmt="o", color=OURS, markersize=4, elinewidth=0.6, alpha=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("trained weights, millions")
    axes.set_ylabel("overall on dev")
    return figure


def _differences(parts: dict[str, PartResult]) -> Figure:
    """A line for each comparison, by label: ours with its interval, and what it is to be held against."""
    figure = Figure(figsize=(9.7, 1.1 + 0.42 * len(parts)), layout="constrained")
    axes = figure.subplots()
    for at, part in enumerate(parts.values()):
        margin = part.part.margin
        axes.barh(at, 2 * margin, 0.8, -margin, color="0.9", zorder=0, label="too little to matter")
        hollow = {"label": "published", "markersize": 7, "fillstyle": "none"}
        _mark(axes, part.part.published, at, "D", PUBLISHED, beyond=at + 0.25, **hollow)
        if part.difference is None:
            axes.text(-EDGE, at, "not trained yet", va="center", color="0.45", fontsize="small", style="italic")
            continue
        _mark(axes, part.third and part.third.mean, at, "o", GHOST, label="at a third of the training", markersize=6)
        if part.difference.interval:
            ends = np.clip(part.difference.interval, -1.06 * EDGE, 1.06 * EDGE)
            axes.plot(ends, [at, at], color=OURS, linewidth=2, label="95 % interval")
        full = "none" if part.part.confounded else "full"
        _mark(axes, part.difference.mean, at, "o", OURS, beyond=at - 0.25, label="ours", markersize=7, fillstyle=full)
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(parts)), [textwrap.fill(label, WRAP) for label in parts])
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.set_xlim(-1.12 * EDGE, 1.12 * EDGE)
    axes.set_xticks(np.linspace(-EDGE, EDGE, 7))
    axes.xaxis.set_major_formatter(lambda x, _: markdown.number(x, "+", 2) if round(x, 3) else "0")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ours: the first side less the second; right of 0, the first is better", fontsize="small")
    by_label = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))  # each kind of mark once
    figure.legend(
        by_label.values(), by_label.keys(), loc="outside upper center", ncols=6, frameon=False, fontsize="small"
    )
    return figure


def _mark(
    axes: Axes, value: float | None, at: float, marker: str, colour: str, beyond: float | None = None, **look: Any
) -> None:
    """Draw a value; past the edge an arrow with its number, at the height `beyond`."""
    if value is None:
        return
    if abs(value) <= EDGE:
        axes.plot(value, at, marker, color=colour, **look)
        return
    at, side = at if beyond is None else beyond, 1 if value > 0 else -1
    axes.plot(side * EDGE * 1.06, at, ">" if side > 0 else "<", color=colour, markersize=7)
    said, align = markdown.number(value, "+", 2), "right" if side > 0 else "left"
    axes.text(side * EDGE * 1.02, at, said, ha=align, va="center", color=colour, fontsize="small")


def _places(axes: Axes, table: Frame) -> None:
    """Points by label; where a pair's sentences lie apart, lines between the two, of alike and unlike pairs."""
    if table["x2"].notna().any():
        for (name, low, high), colour in zip(PAIRS, ("C0", "C3"), strict=True):
            some = table[table["label"].between(low, high)].head(40)
            axes.plot(some[["x", "x2"]].T, some[["y", "y2"]].T, color=colour, linewidth=0.7)
            axes.plot([], [], color=colour, label=name)
        axes.legend(fontsize="xx-small", frameon=False, loc="upper right")
    else:
        axes.scatter(table["x"], table["y"], c=table["label"], s=5, cmap="coolwarm")
    axes.set(xticks=[], yticks=[])
