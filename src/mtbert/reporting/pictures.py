"""The report's pictures, one file each: costs, training loss, mistakes, labels, and where embeddings lie.

Embeddings are shown by t-SNE (`mtbert.reporting.tsne`), which keeps neighbours, not distances: clusters can be read
from it, their places cannot.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from mtbert import files
from mtbert.reporting import embeddings, forest, mistakes, placing
from mtbert.reporting.analysis import Analysis
from mtbert.reporting.catalog import Catalog
from mtbert.reporting.claims import Verdict
from mtbert.reporting.costs import Cost, among, leaders
from mtbert.reporting.embeddings import KINDS, PAIRS, Cloud
from mtbert.reporting.forest import COLOURS as VERDICTS
from mtbert.reporting.forest import Forest, placed
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.published import RIVALS as RIVAL_CLAIMS
from mtbert.reporting.published import TITLES
from mtbert.tasks import TASKS

COLUMNS = 3
LABELLED = ("sst", "cfimdb")  # tasks whose labels' shares are drawn
PANELS = 24  # of one picture: more than any paper has rows, and eight screens of them
SIDE = 3.2  # inches of a panel
PLOT = (580.0, 300.0)  # width and height in points of the axes of a picture of one
RIVALS = {"stored": "weights to keep beside the encoder", "trained": "trained weights"}
LETTER = 5.2  # width in points of a letter of a name
COLOURS = ("tab:blue", "tab:orange")
ANSWERS = {"yes": "#0b6b50", "no": "#a23a12", "open": "#c08400", "none": "#5a6673"}  # by the colour of a verdict
FOREST = (
    "ours less the other's; green: holds, red: does not, yellow: open by itself; in brackets: not counted\n"
    "grey: less than matters; hollow: published, a triangle farther out"
)
STEPS_OFF = ("#2b6a99", "#a7c6dd", "#f6d9a8", "#e8965a", "#b2402a")  # right, then farther and farther off
Loss = dict[str, pd.Series]
Found = TypeVar("Found")
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its file without the ending, and what it shows."""

    name: str
    title: str
    figure: Figure


def write(
    build: Path, catalog: Catalog, shown: Analysis, directory: Path, judged: Sequence[Verdict] = ()
) -> list[Picture]:
    """Every picture that the results allow, as PNG files in `directory`."""
    directory.mkdir(parents=True)
    made = []
    for picture in chain(claims(forest.by_paper(judged)), drawn(build, catalog, shown)):
        picture.figure.savefig(directory / f"{picture.name}.png", metadata={"Software": None})
        picture.figure.clear()  # one of many panels holds some hundred MB
        made.append(picture)
    return made


def drawn(build: Path, catalog: Catalog, shown: Analysis) -> Iterator[Picture]:
    """Costs and distances of all; losses, confusions, sentiment in two dimensions and pairs in three by paper."""
    yield from costs(shown.costs)
    yield from rivals(among(shown.costs, catalog.rivals))
    yield from distances(shown.answers.get("sst", {}))
    for paper in dict.fromkeys(entry.paper for entry in catalog.selected):
        names = {entry.name for entry in catalog.detailed if entry.paper == paper}
        title = TITLES.get(paper, "Variants of one's own")
        yield from losses(_of(shown.losses, names), paper, title)
        yield from confusions(_of(shown.answers, names), paper, title)
        clouds = _of(shown.clouds, names)
        yield from sentiment(clouds.get("sst", {}), paper, title)
        for task in KINDS:
            yield from pairs(clouds.get(task, {}), task, paper, title)
    yield from labels(build, LABELLED)


def _of(found: dict[str, dict[str, Found]], names: set[str]) -> dict[str, dict[str, Found]]:
    """Only those variants, and the tasks that one of them has."""
    mine = {task: {name: one for name, one in several.items() if name in names} for task, several in found.items()}
    return {task: several for task, several in mine.items() if several}


# --- scores and costs -------------------------------------------------------------------------------------------------


def costs(found: Sequence[Cost]) -> Iterator[Picture]:
    """The overall score on dev against stored weights, a named point for each row."""
    if whole := leaders(found):
        spreads = [cost.spread("overall_raw") for cost in whole]
        figure = _points(whole, [cost.times_bert for cost in whole], spreads, "weights to store, times one encoder")
        yield Picture("costs", "Overall score on dev against weights to store", figure)


def claims(papers: Mapping[str, Forest]) -> Iterator[Picture]:
    """A forest plot for each paper: a claim's statement, and below it a line for each comparison."""
    for paper, one in papers.items():
        title = TITLES[paper] if paper != RIVAL_CLAIMS else "The field"
        yield Picture(f"claims-{paper}", f"{title}: what is claimed, and what we find", _forest(one))


def _forest(one: Forest) -> Figure:
    figure, axes = canvas(9, 1.2 + 0.21 * one.height)
    at = [line.y for line in one.lines]
    margins = [line.part.matters for line in one.lines]
    axes.barh(at, [2 * size for size in margins], height=1, left=[-size for size in margins], color="#e4e8ec")
    axes.axvline(0, color="#aab3bc", linewidth=0.8)
    for line in one.lines:
        if (found := line.found) is not None:
            ends = [[found.difference - found.low], [found.high - found.difference]]
            colour = ANSWERS[VERDICTS[line.answer]]
            axes.errorbar(found.difference, line.y, xerr=ends, fmt="o", markersize=4.5, color=colour)
        if line.part.published is not None:
            x, edge = placed(line.part.published, one.reach)
            mark = ("<" if x < 0 else ">") if edge else "D"
            axes.plot(x, line.y, mark, markersize=5, markerfacecolor="none", color="#5a6673")
    for head in one.heads:
        axes.annotate(
            head.text, (0, head.y), xycoords=("axes fraction", "data"), va="center", fontsize="small", weight="bold"
        )
    axes.set(xlim=(-one.reach, one.reach), ylim=(-one.height, 1))
    axes.set_yticks(at, [line.label for line in one.lines], fontsize="x-small")
    axes.set_xlabel(FOREST, fontsize="small")
    return figure


def rivals(found: Sequence[Cost]) -> Iterator[Picture]:
    """The same of PALs and their rivals, against stored and against trained weights, with 95 % intervals."""
    whole = leaders(found)
    halves = [cost.half("overall_raw") for cost in whole]
    for kind, about in RIVALS.items() if whole else ():
        places = [getattr(cost, kind) / 1e6 for cost in whole]
        figure = _points(whole, places, halves, f"{about}, millions")
        yield Picture(f"rivals-{kind}", f"PALs and their rivals: overall score on dev against {about}", figure)


def _points(found: Sequence[Cost], places: Sequence[float], bars: Sequence[float | None], label: str) -> Figure:
    """The overall score of each at its place, with its name and a bar to both sides where any has one."""
    figure, axes = canvas(9, 5)
    heights = [cost.mean("overall_raw") for cost in found]
    lengths = [bar or 0 for bar in bars]
    axes.errorbar(places, heights, yerr=lengths if any(bars) else None, fmt="o", markersize=5, linewidth=0.8)
    axes.set_xlabel(label)
    axes.set_ylabel("overall on dev (raw)")
    axes.margins(x=0.08, y=0.12)
    _name(axes, [cost.name for cost in found], places, heights)
    return figure


def _name(axes: Axes, names: Sequence[str], places: Sequence[float], heights: Sequence[float]) -> None:
    """Write each point's name beside it, as far as there is room for."""
    (left, right), (bottom, top), (width, height) = axes.get_xlim(), axes.get_ylim(), PLOT
    points = [
        ((x - left) / (right - left) * width, (y - bottom) / (top - bottom) * height)
        for x, y in zip(places, heights, strict=True)
    ]
    sizes = [(LETTER * len(name), 1.6 * LETTER) for name in names]
    found = zip(names, places, heights, placing.offsets(points, sizes, width, height), strict=True)
    line = {"arrowstyle": "-", "linewidth": 0.4, "color": "0.6", "shrinkA": 0, "shrinkB": 3}
    for name, x, y, shift in found:
        if shift is not None:
            axes.annotate(
                name, (x, y), xytext=shift, textcoords="offset points", fontsize="x-small", ha="center", va="center",
                arrowprops=line,
            )  # fmt: skip


# --- training loss ----------------------------------------------------------------------------------------------------


def losses(found: dict[str, Loss], paper: str, title: str) -> Iterator[Picture]:
    """One picture a task: the training loss of every variant that trains it, a mean over seeds."""
    for task, several in found.items():
        figure, axes = canvas(8, 4.5)
        for name, loss in several.items():
            axes.plot(loss.index, loss.to_numpy(), label=name, linewidth=1.2)
        axes.set_xlabel("step")
        axes.set_ylabel(f"training loss on {TASKS[task].title}")
        axes.legend(fontsize="x-small", ncols=2, frameon=False)
        yield Picture(f"{paper}-loss-{task}", f"{title}: training loss on {TASKS[task].title}", figure)


# --- mistakes ---------------------------------------------------------------------------------------------------------


def confusions(found: dict[str, dict[str, Answers]], paper: str, title: str) -> Iterator[Picture]:
    """One picture a task of classes, a panel a variant: what share of each label (a row) was taken for what."""
    for task, several in found.items():
        panels = {name: said.confusion for name, said in several.items() if len(said.confusion)}
        if panels:
            shown = f"{title}: {TASKS[task].title} dev labels (rows) and predictions (columns), share of the label"
            panels, shown = first(panels, shown)
            yield Picture(f"{paper}-confusion-{task}", shown, grid(panels, _shares_of_labels, ticks=False))


def _shares_of_labels(axes: Axes, counts: np.ndarray) -> None:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 0.5 else "black"
        axes.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize="x-small", color=colour)


def distances(found: dict[str, Answers]) -> Iterator[Picture]:
    """How many steps predicted sentiment is from the label, a bar a variant."""
    if not found:
        return
    shares = np.array([mistakes.distances(said.confusion) for said in found.values()])
    figure, axes = canvas(8, 1.2 + 0.28 * len(found))
    left = np.zeros(len(found))
    for steps, (share, colour) in enumerate(zip(shares.T, STEPS_OFF, strict=True)):
        axes.barh(list(found), share, left=left, color=colour, label=f"{steps} off" if steps else "right")
        left += share
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of dev rows")
    axes.legend(ncols=len(STEPS_OFF), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, fontsize="small")
    yield Picture("distances", "SST-5 dev: how many steps the predicted sentiment is from the label", figure)


# --- labels -----------------------------------------------------------------------------------------------------------


def labels(build: Path, tasks: Sequence[str]) -> Iterator[Picture]:
    """How often each label comes, in training and dev sets side by side, as shares of the set."""
    found = {task: shares(build, task) for task in tasks}
    found = {task: table for task, table in found.items() if not table.empty}
    if not found:
        return
    figure = Figure(figsize=(4 * len(found), 3.5), layout="constrained")
    for axes, (task, table) in zip(np.atleast_1d(figure.subplots(1, len(found))), found.items(), strict=True):
        table.plot.bar(ax=axes, rot=0)
        axes.margins(y=0.25)  # room for the legend
        axes.set_title(TASKS[task].title)
        axes.set_xlabel("label")
        axes.set_ylabel("share of the set")
    titles = " and ".join(TASKS[task].title for task in found)
    yield Picture("labels", f"Labels of {titles}", figure)


def shares(build: Path, task: str) -> pd.DataFrame:
    """Share of each label (rows) in train and dev (columns); empty where the corpus is not there."""
    sets = {split: build / "data" / task / f"{split}.parquet" for split in ("train", "dev")}
    columns = {
        split: files.read_parquet(file, ["label"])["label"].astype(int).value_counts(normalize=True)
        for split, file in sets.items()
        if file.is_file()
    }
    return pd.DataFrame(columns).sort_index().fillna(0.0)


# --- embeddings -------------------------------------------------------------------------------------------------------


def sentiment(clouds: dict[str, Cloud], paper: str, title: str) -> Iterator[Picture]:
    """SST dev in two dimensions, a panel a variant, coloured by label."""
    if clouds:
        shown = f"{title}: SST-5 dev embeddings by t-SNE, from negative (blue) to positive (red)"
        clouds, shown = first(clouds, shown)
        yield Picture(f"{paper}-sentiment", shown, grid(clouds, _cloud, ticks=False))


def _cloud(axes: Axes, cloud: Cloud) -> None:
    axes.scatter(*cloud.flat[0].T, c=cloud.labels, cmap="coolwarm", s=4)


def pairs(clouds: dict[str, Cloud], task: str, paper: str, title: str) -> Iterator[Picture]:
    """Pairs that are encoded apart in three dimensions, a panel a variant, a line between the two sentences."""
    apart = {name: (cloud, embeddings.kind_of(cloud.labels, task)) for name, cloud in clouds.items() if cloud.apart}
    if apart:
        names = " and ".join(f"{kind} ({colour[4:]})" for kind, colour in zip(KINDS[task], COLOURS, strict=True))
        apart, shown = first(apart, f"{title}: {TASKS[task].title} dev pairs by t-SNE, {names}")
        yield Picture(f"{paper}-pairs-{task}", shown, grid(apart, _lines, ticks=False, projection="3d"))


def _lines(axes: Axes, shown: tuple[Cloud, np.ndarray]) -> None:
    cloud, kinds = shown
    for kind, colour in enumerate(COLOURS):
        first, second = cloud.solid[:, np.flatnonzero(kinds == kind)[:PAIRS]]
        axes.add_collection(Line3DCollection(list(np.stack([first, second], axis=1)), colors=colour, linewidths=0.8))
        axes.scatter(*np.concatenate([first, second]).T, color=colour, s=3)


# --- drawing ----------------------------------------------------------------------------------------------------------


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty figure of that many inches with one pair of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def first(panels: dict[str, Shown], title: str) -> tuple[dict[str, Shown], str]:
    """As many panels as one picture has room for, and its title, which says where it shows the first alone."""
    if len(panels) <= PANELS:
        return panels, title
    return dict(islice(panels.items(), PANELS)), f"{title} (the first {PANELS} of {len(panels)})"


def grid(
    panels: dict[str, Shown], draw: Callable[[Axes, Shown], None], ticks: bool = True, projection: str = ""
) -> Figure:
    """One panel a variant, COLUMNS beside one another."""
    rows, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
    figure = Figure(figsize=(SIDE * columns, SIDE * rows))  # not constrained: that draws every panel several times
    edge = 0.3 / SIDE
    figure.subplots_adjust(edge / columns, edge / rows, 1 - edge / columns, 1 - edge / rows, 2 * edge, 2 * edge)
    for number, (name, shown) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(rows, columns, number, projection=projection or None)
        if not ticks:
            axes.set(xticks=[], yticks=[], **({"zticks": []} if projection else {}))
        draw(axes, shown)
        axes.set_title(name, fontsize="small")
    return figure
