"""The mean of each way against the milliseconds that a text takes, and the frontier of ways that no other one beats."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from mtbert.judge import Answer, Row
from mtbert.report import markdown
from mtbert.report.pictures import drawing
from mtbert.scores.described import MAJORITY

HEIGHT = 3.6  # inches
ROOM = 1.3  # beside the first and the last way, as a factor
RADIUS = 5  # of a dot, in points of the figure
ALT = "The mean of each way against the milliseconds that a text takes"


class _Place(NamedTuple):
    """Where a label stands beside its point: on which side of `shift`, in points of print, and at which height."""

    side: Literal["left", "right"]
    height: Literal["baseline", "top"]
    shift: tuple[float, float]


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
    figure.draw_without_rendering()  # after which it is known where a point lies on the figure
    put_labels(axes, {way.label: (way.costs["milliseconds"], way.scores[metric].mean) for way in ways})
    return figure


def put_labels(axes: Axes, points: Mapping[str, tuple[float, float]]) -> list[Annotation]:
    """Write each label beside its point, within the picture, where it covers the fewest points and earlier labels."""
    dots = {label: _dot(axes, point) for label, point in points.items()}
    texts: list[Annotation] = []
    for label, point in points.items():
        text = axes.annotate(drawing.short(label), point, (0, 0), textcoords="offset points", fontsize="small")
        others = [each.get_window_extent() for each in texts] + [dot for name, dot in dots.items() if name != label]
        boxes = {place: _move(text, place) for place in _places(axes, dots[label])}
        _move(text, min(boxes, key=lambda place: (_leaves(axes, boxes[place]), boxes[place].count_overlaps(others))))
        texts.append(text)
    return texts


def _leaves(axes: Axes, box: Bbox) -> bool:
    return box.x0 < axes.bbox.x0 or box.x1 > axes.bbox.x1


def _dot(axes: Axes, point: tuple[float, float]) -> Bbox:
    """Return where the dot of a point lies on the figure."""
    x, y = axes.transData.transform(point)
    return Bbox.from_bounds(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS)


def _places(axes: Axes, dot: Bbox) -> list[_Place]:
    """Return where a label may stand beside its dot, the best place first: above it, and towards the middle."""
    is_right = dot.x0 + dot.x1 > axes.bbox.x0 + axes.bbox.x1
    sides = [_Place("right", "baseline", (-4, 5)), _Place("left", "baseline", (4, 5))]
    above = sides if is_right else sides[::-1]
    return [*above, *(_Place(place.side, "top", (place.shift[0], -5)) for place in above)]


def _move(text: Annotation, place: _Place) -> Bbox:
    """Put a label to a place; return where it lies on the figure."""
    text.set(ha=place.side, va=place.height)
    text.xyann = place.shift
    return text.get_window_extent()
