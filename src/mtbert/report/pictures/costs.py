"""The mean of each way against the milliseconds that a text takes, and the frontier of ways that no other one beats."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from mtbert.judge import Answer, Row
from mtbert.report import markdown
from mtbert.report.pictures import drawing
from mtbert.scores.described import MAJORITY

HEIGHT = 3.6  # inches
ROOM = 1.3  # beside the first and the last way, as a factor
ALT = "The mean of each way against the milliseconds that a text takes"


def render(answer: Answer, folder: Path) -> str:
    """Draw the picture into a report's folder; return it as Markdown, empty if fewer than two ways were timed."""
    if len(timed(answer)) < 2:
        return ""
    drawing.put_narrow(_drawn(answer, is_narrow=True), folder, "costs")
    return drawing.put(_drawn(answer), folder, "costs", "", ALT)


def timed(answer: Answer) -> list[Row]:
    """Return the ways whose milliseconds are known, the fastest first; without the majority class."""
    ways = [way for way in answer.ways if way.costs.get("milliseconds") and way.names != (MAJORITY,)]
    return sorted(ways, key=lambda way: way.costs["milliseconds"])


def frontier(ways: Sequence[Row], metric: str) -> list[Row]:
    """Return the ways, the fastest first, that have a higher mean than every faster one."""
    best: list[Row] = []
    for way in ways:
        if not best or way.scores[metric].mean > best[-1].scores[metric].mean:
            best.append(way)
    return best


def _drawn(answer: Answer, is_narrow: bool = False) -> Figure:
    """A dot for each way, filled where it may be kept; the frontier is a line, beyond the limit is grey."""
    ways, metric = timed(answer), answer.metric
    figure = drawing.empty(HEIGHT, drawing.NARROW if is_narrow else drawing.WIDTH)
    axes = figure.subplots()
    axes.set_xscale("log")
    first, last = ways[0].costs["milliseconds"] / ROOM, ways[-1].costs["milliseconds"] * ROOM
    axes.set_xlim(first, last)
    steps = [(way.costs["milliseconds"], way.scores[metric].mean) for way in frontier(ways, metric)]
    axes.step(*zip(*steps, strict=True), where="post", color="0.6", linewidth=1, zorder=1)
    for way in ways:
        x, y = way.costs["milliseconds"], way.scores[metric].mean
        fill = drawing.PALETTE[0] if way in answer.candidates else "white"
        axes.plot(x, y, "o", color=drawing.PALETTE[0], markerfacecolor=fill, markersize=7, zorder=2)
        side, shift = ("right", -4) if x * x > first * last else ("left", 4)  # towards the middle
        axes.annotate(
            drawing.short(way.label), (x, y), (shift, 5), textcoords="offset points", fontsize="small", ha=side
        )
    most = answer.limit.get("milliseconds", last)
    axes.axvspan(min(most, last), last, color="0.9", zorder=0)
    axes.margins(y=0.15)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda y, _: markdown.number(y))
    axes.spines[["top", "right"]].set_visible(False)
    between = "\n" if is_narrow else " "
    axes.set_xlabel(f"milliseconds a text for all tasks; the line:{between}no faster way has a higher mean")
    axes.set_ylabel("mean")
    return figure
