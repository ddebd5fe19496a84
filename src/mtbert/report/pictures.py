"""Pictures, one function a kind; each is drawn when it is written."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from mtbert import files
from mtbert.claims import ClaimResult
from mtbert.report import claims, curves, misses
from mtbert.report.published import TITLES
from mtbert.report.study import Group, Study
from mtbert.results.tables import Frame
from mtbert.tasks import TASKS

COLOURS = 48  # of a picture's file, which makes it a third as large
DOTS = 72  # an inch
PANELS = 8  # of a picture; the variants of a paper in its tables' order
BARS = ("#2b6a99", "#a7c6dd", "#f6d9a8", "#e8965a", "#b2402a")  # right, then farther and farther off
LINES = ("-", "--", ":", "-.")
PAIRS = (("similarity 4 to 5", 4.0, 5.0), ("0 to 1", 0.0, 1.0))  # of STS-B: lines between a pair's sentences


@dataclass(frozen=True)
class Picture:
    """A picture: the name of its file, what it shows, and a function that makes the figure."""

    name: str
    title: str
    draw: Callable[[], Figure]

    def write(self, directory: Path) -> None:
        """Draw it into a PNG file of the directory."""
        buffer = io.BytesIO()
        self.draw().savefig(buffer, dpi=DOTS, metadata={"Software": None})
        small = Image.open(buffer).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        directory.mkdir(parents=True, exist_ok=True)
        with files.new_file(directory / f"{self.name}.png") as partial:
            small.save(partial, "PNG", optimize=True)


def all_of(study: Study, judged: Sequence[ClaimResult]) -> Iterator[Picture]:
    """Yield every picture that the results have something for."""
    if rows := [row for row in study.rows if row.over_seeds("overall_raw")]:
        yield Picture("costs", "Overall score on dev against weights, with 95 % intervals", partial(_costs, rows))
    for paper in dict.fromkeys(one.claim.paper for one in judged):
        title = f"{TITLES[paper]}: differences that it claims, ours with 95 % interval, published as a cross"
        yield Picture(f"claims-{paper}", title, partial(_forest, [one for one in judged if one.claim.paper == paper]))
    counts = {task: misses.confusions(study, task) for task in ("sst", "qqp")}
    if shares := {name: misses.distances(of) for name, of in counts["sst"].items()}:
        title = "SST-5 dev: how many steps the predicted sentiment is from the label"
        yield Picture("distances", title, partial(_distances, shares))
    if study.results.data.labels:
        yield Picture("labels", "Share of each label in train and dev", partial(_labels, study))
    placed = {task: _placed(study, task) for task in ("sst", "sts")}
    for paper in dict.fromkeys(about.paper for about in study.about.values()):
        title = TITLES.get(paper, "Variants of one's own")
        names = [name for name, about in study.about.items() if about.paper == paper]
        if losses := curves.by_task(study, [name for name in names if name in study.variants]):
            yield Picture(f"{paper}-loss", f"{title}: training loss by step", partial(_losses, losses))
        for task, of in counts.items():
            if panels := {name: of[name] for name in names[:PANELS] if name in of}:
                said = f"{title}: {TASKS[task].title} dev labels (rows) and predictions (columns), share of the label"
                yield Picture(f"{paper}-confusion-{task}", said, partial(_grid, panels, _confusion))
        for task, of in placed.items():
            if panels := {name: of[name] for name in names[:PANELS] if name in of}:
                said = f"{title}: {TASKS[task].title} dev sentences by t-SNE; neighbours tell, places do not"
                yield Picture(f"{paper}-embeddings-{task}", said, partial(_grid, panels, _places))


def _placed(study: Study, task: str) -> dict[str, Frame]:
    """By variant, the dev rows that have a place: those of one seed."""
    tables = ((name, table[table["x"].notna()]) for name, _, table in study.results.of(task, "dev"))
    return {name: table for name, table in tables if len(table)}


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure of that many inches with one pair of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _grid(panels: dict, draw: Callable) -> Figure:
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(2.6 * columns, 2.6 * rows), layout="constrained")
    every = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (name, shown) in zip(every, panels.items(), strict=False):
        draw(axes, shown)
        axes.set_title(name, fontsize="small")
    for axes in every[len(panels) :]:
        axes.set_axis_off()
    return figure


def _costs(rows: list[Group]) -> Figure:
    """The overall score against weights, by powers of ten; the names stand in the table."""
    figure, axes = canvas(9, 4.5)
    for row in rows:
        overall = row.over_seeds("overall_raw")
        assert overall is not None  # only such rows are drawn
        bar = None if overall.high is None else overall.high - overall.mean
        x = max(row.weights["trained"] / 1e6, 1e-3)
        axes.errorbar(x, overall.mean, yerr=bar, fmt="o", color=BARS[0], markersize=4, elinewidth=0.6, alpha=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("trained weights, millions")
    axes.set_ylabel("overall on dev")
    return figure


def _forest(judged: list[ClaimResult]) -> Figure:
    """A line for each comparison: the margin as a band, ours with its interval, the published one as a cross."""
    parts = [part for one in judged for part in one.parts if part.difference is not None]
    figure, axes = canvas(9, 0.8 + 0.22 * len(parts))
    for at, part in enumerate(parts):
        found = part.difference
        assert found is not None  # only such parts are drawn
        low, high = found.interval or (found.mean, found.mean)
        axes.barh(at, 2 * part.part.margin, 0.9, -part.part.margin, color="0.92")
        axes.plot([low, high], [at, at], color=BARS[0], linewidth=1)
        axes.plot(
            found.mean, at, "o", color=BARS[0], markersize=4, fillstyle="none" if part.part.confounded else "full"
        )
        if part.part.published is not None:
            axes.plot(part.part.published, at, "x", color=BARS[-1], markersize=4)
    axes.axvline(0, color="0.5", linewidth=0.6)
    axes.set_yticks(range(len(parts)), [claims.pair(part.part) for part in parts], fontsize="xx-small")
    axes.set_ylim(len(parts), -1)
    return figure


def _distances(shares: dict[str, np.ndarray]) -> Figure:
    figure, axes = canvas(8, 1.2 + 0.2 * len(shares))
    left = np.zeros(len(shares))
    for steps, (share, colour) in enumerate(zip(np.array(list(shares.values())).T, BARS, strict=True)):
        axes.barh(list(shares), share, left=left, color=colour, label=f"{steps} off" if steps else "right")
        left += share
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize="x-small")
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of dev rows")
    figure.legend(ncols=len(BARS), loc="outside upper center", frameon=False, fontsize="small")
    return figure


def _labels(study: Study) -> Figure:
    labels = study.results.data.labels
    figure = Figure(figsize=(3 * len(labels), 2.6), layout="constrained")
    for axes, (task, counts) in zip(figure.subplots(1, len(labels), squeeze=False)[0], labels.items(), strict=True):
        for side, (split, of) in enumerate(counts.items()):
            share = np.array(list(of.values())) / max(1, sum(of.values()))
            axes.bar(np.array([int(label) for label in of]) + 0.4 * side - 0.2, share, 0.4, label=split)
        axes.set_title(TASKS[task].title, fontsize="small")
        axes.legend(fontsize="x-small", frameon=False)
    return figure


def _losses(losses: dict[str, dict[str, pd.Series]]) -> Figure:
    figure = Figure(figsize=(4 * len(losses) + 2.5, 4), layout="constrained")
    names = list(dict.fromkeys(name for of in losses.values() for name in of))
    looks = {name: {"color": f"C{at % 10}", "linestyle": LINES[at // 10 % 4]} for at, name in enumerate(names)}
    handles = {}
    for axes, (task, of) in zip(figure.subplots(1, len(losses), squeeze=False)[0], losses.items(), strict=True):
        for name, loss in of.items():
            (handles[name],) = axes.plot(loss.index, loss.to_numpy(), linewidth=1, label=name, **looks[name])
        axes.set_title(TASKS[task].title, fontsize="small")
        axes.set_xlabel("step", fontsize="small")
    figure.legend(handles.values(), handles, loc="outside right upper", fontsize="x-small", frameon=False)
    return figure


def _confusion(axes: Axes, counts: np.ndarray) -> None:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 0.5 else "black"
        axes.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize="xx-small", color=colour)
    axes.set_xticks(range(len(shares)))
    axes.set_yticks(range(len(shares)))


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
