"""Training loss: a line for each variant."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

from mtbert.reporting import curves, markdown
from mtbert.reporting.figures import COLOURS, Figure, rounded, titled
from mtbert.reporting.pictures import Picture, canvas, groups
from mtbert.reporting.sections.base import Numbers, Part, Report, Section, once
from mtbert.tasks import TASKS

LINES = ("-", "--", ":", "-.")  # of a picture, after each cycle of its colours
CYCLE = 10  # colours of a picture
COLUMN = 24  # names of a column of the legend
FAULTY = f"{markdown.FAULTY} trained by faulty code"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
Losses = dict[str, pd.Series]  # by variant


@once
def losses(report: Report) -> dict[str, Losses]:
    """Training loss by task and variant, a mean over seeds."""
    return curves.by_task(report.build, report.completed)


def figures(report: Report, local: bool) -> dict[str, Any]:
    """The lines of each task, and how each variant's looks."""
    by_task = losses(report)
    looks = styles(list(dict.fromkeys(name for by_variant in by_task.values() for name in by_variant)))
    for name in report.faulty & looks.keys():
        looks[name]["mark"] = markdown.FAULTY
    return {"losses": {task: _figure(task, some, looks) for task, some in by_task.items()}, "looks": looks}


def styles(names: list[str]) -> dict[str, dict[str, str]]:
    """A colour and a dash for every variant, different for the first 48."""
    looks = [(f"c{at % COLOURS}", DASHES[at // COLOURS % len(DASHES)]) for at in range(len(names))]
    return {name: {"colour": colour, "dash": dash} for name, (colour, dash) in zip(names, looks, strict=True)}


def _figure(task: str, by_variant: Losses, looks: Mapping[str, Mapping[str, str]]) -> Figure:
    return {
        "data": [_line(name, loss, looks[name]) for name, loss in by_variant.items()],
        "layout": {"xaxis": titled("step"), "yaxis": titled(f"training loss on {TASKS[task].title}")},
    }


def _line(name: str, loss: pd.Series, look: Mapping[str, str]) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [int(step) for step in loss.index],
        "y": rounded(loss.to_numpy(), 4),
        "line": {"width": 1.8, "dash": look["dash"]},
        "hovertemplate": "%{y:.3f} at step %{x}<extra>%{fullData.name}</extra>",
        "meta": {"colour": look["colour"]},
    }


def pictures(report: Report) -> Iterator[Picture]:
    """One picture a task, of each paper's variants."""
    for group in groups(report.completed):
        for task, by_variant in group.of(losses(report)).items():
            title = f"{group.title}: training loss on {TASKS[task].title}"
            yield Picture(
                f"{group.paper}-loss-{task}", title, partial(draw, task, by_variant, report.faulty), group.paper
            )


def draw(task: str, by_variant: Losses, faulty: Collection[str]) -> Drawing:
    """A line for each variant that trains the task; a mark behind those that faulty code trained."""
    figure, axes = canvas(9.5, 4.5)
    for at, (name, loss) in enumerate(by_variant.items()):
        label = markdown.marked(name, changed=False, faulty=name in faulty)
        look = {"color": f"C{at % CYCLE}", "linestyle": LINES[at // CYCLE % len(LINES)], "linewidth": 1.2}
        axes.plot(loss.index, loss.to_numpy(), label=label, **look)
    axes.set_xlabel("step")
    axes.set_ylabel(f"training loss on {TASKS[task].title}")
    title = FAULTY if any(name in faulty for name in by_variant) else None
    columns = -(-len(by_variant) // COLUMN)
    figure.legend(
        loc="outside right upper",
        fontsize="x-small",
        ncols=columns,
        frameon=False,
        title=title,
        title_fontsize="x-small",
    )
    return figure


SECTION = Section(
    name="losses",
    title="Loss",
    numbers=(Numbers("curves.csv", lambda report: curves.losses(report.build, report.completed), for_dvc=True),),
    pictures=pictures,
    part=Part("losses.html", lambda report, _: {"losses": losses(report), "faulty": report.faulty}, figures),
)
