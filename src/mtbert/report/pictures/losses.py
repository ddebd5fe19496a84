"""Training loss by step, one picture a paper: a panel for each task, a line for each variant."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from mtbert.report import markdown
from mtbert.report.paper_tables import title
from mtbert.report.pictures import drawing
from mtbert.scores.columns import Frame
from mtbert.scores.results import Results
from mtbert.tasks import Tasks

LINES = len(drawing.PALETTE)  # of a picture; further variants of a paper have one more
POINTS = 30  # of the longest line
SMOOTHED = 3  # points that each one is the mean of, with those beside it
ABOUT = (
    "The loss of each task while it trains, without the terms that objectives add. A point is the mean over "
    f"1/{POINTS // SMOOTHED} of the longest training's steps, and over seeds. A lower line fits the training rows "
    "better; dev scores need not be better. Heads with another loss have another scale."
)


def render(results: Results, folder: Path) -> str:
    """Draw the pictures into a report's folder; return them as Markdown, empty where no loss was logged."""
    pictures: list[str] = []
    for paper, names in results.by_paper.items():
        parts = [curves(results, names[start : start + LINES]) for start in range(0, len(names), LINES)]
        parts = [loss_curves for loss_curves in parts if loss_curves]
        for number, loss_curves in enumerate(parts, 1):
            part = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
            name = f"{paper}-loss-{number}" if number > 1 else f"{paper}-loss"
            paper_title = markdown.literal(title(paper))
            text, alt = f"**{paper_title}**: training loss by step{part}", f"Training loss, {paper_title}{part}"
            pictures.append(drawing.put(_drawn(loss_curves, results.tasks), folder, name, text, alt))
    return "\n\n".join([ABOUT, *pictures]) if pictures else ""


def curves(results: Results, names: Sequence[str]) -> dict[str, dict[str, Frame]]:
    """Return by task and variant the smoothed training loss, by step, of own tasks; those without one are left out.

    All that was logged within 1 / POINTS of the longest training's steps is averaged, and then each SMOOTHED of these
    averages, at the last step of the middle one. Where nothing was logged, there is no point.
    """
    history = results.history
    losses = history[history["variant"].isin([*names]) & history["name"].str.startswith("loss/")]
    if losses.empty:
        return {}
    longest = int(losses["step"].max())
    parts = -(-losses["step"].astype(int) * POINTS // longest)  # rounded up: 1 to POINTS
    means = losses.assign(part=parts).groupby(["name", "variant", "part"], observed=True)["value"].mean()
    by_task: dict[str, dict[str, Frame]] = {}
    for task, name in itertools.product(results.tasks, names):
        is_logged = (f"loss/{task}", name) in means
        if is_logged and task in results.about[name].tasks:
            by_task.setdefault(task, {})[name] = _smoothed(means[f"loss/{task}", name], longest / POINTS)
    return by_task


def _smoothed(means: Frame, width: float) -> Frame:
    """Return means by part of the training as smoothed ones by step; `width` is a part's number of steps."""
    parts = range(means.index[0], means.index[-1] + 1)
    smoothed = means.reindex(parts).rolling(SMOOTHED, center=True, min_periods=1).mean()
    return smoothed[means.index].set_axis(width * means.index)


def _drawn(curves_by_task: dict[str, dict[str, Frame]], tasks: Tasks) -> Figure:
    """A panel for each task; every second line is dashed, so that one behind it is seen."""
    figure = drawing.empty(3.4)
    names = [*dict.fromkeys(name for curve_by_variant in curves_by_task.values() for name in curve_by_variant)]
    looks = {
        name: {"color": colour, "linestyle": "--" if number % 2 else "-"}
        for number, (name, colour) in enumerate(zip(names, drawing.PALETTE, strict=False))
    }
    panels = figure.subplots(1, len(curves_by_task), squeeze=False)[0]
    lines = {}
    for axes, (task, curve_by_variant) in zip(panels, curves_by_task.items(), strict=True):
        for name, loss in curve_by_variant.items():
            (lines[name],) = axes.plot(loss.index, loss, linewidth=1.6, **looks[name])
        axes.set_title(tasks[task].display_name, fontsize="medium")
        axes.set_xlabel("step")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend([lines[name] for name in names], names, loc="outside lower center", ncols=4, frameon=False)
    return figure
