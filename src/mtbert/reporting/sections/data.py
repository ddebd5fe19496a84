"""The data: what their checks found, and how often each label comes."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Drawing

from mtbert.reporting import corpora
from mtbert.reporting.pictures import DATA, Picture
from mtbert.reporting.sections.base import Part, Report, Section
from mtbert.tasks import TASKS


def render(report: Report) -> str:
    """What the check of the data found."""
    return corpora.data(report.build, report.completed)


def pictures(report: Report) -> Iterator[Picture]:
    """How often each label comes, in training and dev sets side by side, as shares of the set."""
    shares = {task: corpora.shares(report.build, task) for task in corpora.LABELLED}
    shares = {task: table for task, table in shares.items() if not table.empty}
    if shares:
        titles = " and ".join(TASKS[task].title for task in shares)
        yield Picture("labels", f"Labels of {titles}", partial(draw, shares), DATA)


def draw(shares: dict[str, pd.DataFrame]) -> Drawing:
    """A panel a task."""
    figure = Drawing(figsize=(4 * len(shares), 3.5), layout="constrained")
    for axes, (task, table) in zip(np.atleast_1d(figure.subplots(1, len(shares))), shares.items(), strict=True):
        table.plot.bar(ax=axes, rot=0)
        axes.margins(y=0.25)  # room for the legend
        axes.set_title(TASKS[task].title)
        axes.set_xlabel("label")
        axes.set_ylabel("share of the set")
    return figure


SECTION = Section(
    name="data",
    title="Data",
    about="what the checks of the data found",
    markdown=render,
    pictures=pictures,
    part=Part("data.html", lambda report, _: {"checked": render(report)}),
)
