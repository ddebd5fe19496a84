"""How large the data are, and how often each label occurs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mtbert.report import markdown
from mtbert.report.pictures import drawing
from mtbert.scores.described import RowCounts
from mtbert.scores.results import Results
from mtbert.tasks import SPLITS, Split, Task, Tasks

COLOURS: dict[Split, str] = {"train": drawing.PALETTE[0], "dev": drawing.PALETTE[1]}
COLUMNS = 3  # of panels
ROOM = 32  # characters below a panel, of names side by side
LONGEST_TURNED = 18  # characters of a name that is turned
MOST_TURNED = 18  # names of a panel; more are not shown
HEIGHT, HEIGHT_TURNED = 2.4, 3.2  # inches of a panel
ABOUT = (
    "Share of each label in train and dev; scores are counted by fifths of their range. Where the two differ, a model "
    "is trained on another mix of labels than it is scored on."
)


def render(results: Results, folder: Path) -> str:
    """Draw the picture into a report's folder; return it and the table of sizes as Markdown, empty if unknown."""
    tasks, counts_by_task = results.tasks, results.data.rows
    lines: list[dict[str, str]] = []
    shares_by_task: dict[str, dict[str, np.ndarray]] = {}
    for name, task in tasks.items():
        if name in counts_by_task and not task.serves:
            lines.append(_line(task, counts_by_task[name]))
            task_shares = shares(counts_by_task[name], task.several)
            if task_shares:
                shares_by_task[name] = task_shares
    picture = ""
    if shares_by_task:
        alt = "Share of each label in train and dev"
        picture = drawing.put(_drawn(shares_by_task, tasks), folder, "labels", ABOUT, alt)
    return "\n\n".join(filter(None, [picture, markdown.lined(lines)]))


def shares(counts: Mapping[Split, RowCounts], several: bool = False) -> dict[str, np.ndarray]:
    """Return the share of each label [labels] in train and dev, where labels are known; of rows, if these have several.

    Else it is the share of labels, which is the same.
    """
    shares: dict[str, np.ndarray] = {}
    for split in COLOURS:
        label_counts = np.array(counts[split].labels) if split in counts else np.zeros(0)
        if label_counts.sum():
            shares[split] = label_counts / (counts[split].rows if several else label_counts.sum())
    return shares


def _line(task: Task, counts: Mapping[Split, RowCounts]) -> dict[str, str]:
    cells = {"rows": task.display_name}
    for split in SPLITS:
        cells[split] = f"{counts[split].rows:,}" if split in counts else markdown.DASH
    return cells


def _drawn(shares_by_task: dict[str, dict[str, np.ndarray]], tasks: Tasks) -> Figure:
    down = -(-len(shares_by_task) // COLUMNS)
    names_by_task = {
        name: [*_names(tasks[name], len(next(iter(shares_by_split.values()))))]
        for name, shares_by_split in shares_by_task.items()
    }
    height = HEIGHT_TURNED if any(map(_are_turned, names_by_task.values())) else HEIGHT
    figure = drawing.empty(height * down)
    for position, (task, shares_by_split) in enumerate(shares_by_task.items(), 1):
        axes = figure.add_subplot(down, COLUMNS, position)
        for side, split in zip((-0.2, 0.2), COLOURS, strict=True):
            if split in shares_by_split:
                label_shares = shares_by_split[split]
                axes.bar(np.arange(len(label_shares)) + side, label_shares, 0.4, color=COLOURS[split])
        _name_bars(axes, names_by_task[task])
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        axes.set_title(tasks[task].display_name, fontsize="medium")
        axes.spines[["top", "right"]].set_visible(False)
    bars = [Patch(color=colour) for colour in COLOURS.values()]
    figure.legend(bars, [*COLOURS], loc="outside lower center", ncols=2, frameon=False)
    return figure


def _name_bars(axes: Axes, names: Sequence[str]) -> None:
    """Write the names below the bars: side by side, or turned where they would overlap; of many write their number."""
    if _are_turned(names):
        labels = [name if len(name) <= LONGEST_TURNED else f"{name[: LONGEST_TURNED - 1]}…" for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=90)
    elif len(names) > MOST_TURNED:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(names)} labels, as in tasks.yaml")
    else:
        axes.set_xticks(range(len(names)), names)


def _are_turned(names: Sequence[str]) -> bool:
    """Return whether names would overlap side by side, and are few enough to be turned."""
    widest = max((len(one) + len(next_one) for one, next_one in pairwise(names)), default=0) / 2
    return len(names) <= MOST_TURNED and widest * len(names) > ROOM


def _names(task: Task, count: int) -> Iterator[str]:
    """Yield what stands below each bar: the class, or the ends of the part of a score's range."""
    ends = np.linspace(task.lowest, task.highest, count + 1)
    for number in range(count):
        if task.kind == "score":
            yield f"{ends[number]:g} to {ends[number + 1]:g}"
        else:
            yield drawing.short(task.class_labels[number])
