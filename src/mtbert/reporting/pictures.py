"""Still pictures: what one is, and what several sections draw with."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mtbert.reporting.catalog import Completed
from mtbert.reporting.published import TITLES

EVERYTHING, DATA = "everything", "data"  # what a picture shows, where that is no paper's variants
COLUMNS = 3
PANELS = 24  # of one picture: more than any paper has rows, and eight screens of them
SIDE = 3.2  # inches of a panel
Kept = TypeVar("Kept")
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when it is written.

    Attributes:
        name: of its file without the ending.
        title: what it shows.
        draw: makes the figure.
        of: the paper whose variants it shows, EVERYTHING or DATA.
    """

    name: str
    title: str
    draw: Callable[[], Figure]
    of: str = EVERYTHING

    def write(self, directory: Path) -> None:
        """Draw it into a PNG file of the directory."""
        directory.mkdir(parents=True, exist_ok=True)
        figure = self.draw()
        figure.savefig(directory / f"{self.name}.png", metadata={"Software": None})
        figure.clear()  # one of many panels holds some hundred MB


@dataclass(frozen=True)
class Group:
    """The variants of a paper that are shown one by one.

    Attributes:
        paper: its name; `own` for variants of one's own.
        title: its title.
        names: of the variants.
    """

    paper: str
    title: str
    names: frozenset[str]

    def of(self, values: dict[str, dict[str, Kept]]) -> dict[str, dict[str, Kept]]:
        """Of values by task and variant those of these variants; without tasks that none of them has."""
        kept: dict[str, dict[str, Kept]] = {}
        for task, by_variant in values.items():
            ours = {name: value for name, value in by_variant.items() if name in self.names}
            if ours:
                kept[task] = ours
        return kept


def groups(completed: Completed) -> list[Group]:
    """A group for each paper that has results."""
    by_paper = []
    for paper in dict.fromkeys(entry.paper for entry in completed.ran):
        names = frozenset(entry.name for entry in completed.detailed if entry.paper == paper)
        by_paper.append(Group(paper, TITLES.get(paper, "Variants of one's own"), names))
    return by_paper


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
