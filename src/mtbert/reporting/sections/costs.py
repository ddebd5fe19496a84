"""Score against what it costs: weights to keep, and time to train."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from mtbert.reporting import placing
from mtbert.reporting.costs import Cost, among, leaders
from mtbert.reporting.figures import COLOURS, SCORES, Figure, rounded, titled
from mtbert.reporting.pictures import Picture, canvas
from mtbert.reporting.published import METRICS, OVERALLS, TITLES
from mtbert.reporting.sections.base import Part, Report, Section

RIVALS = {"stored": "weights to keep beside the encoder", "trained": "trained weights"}
SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-up")
SCREENS = {"wide": (1000, 330, 12), "narrow": (270, 330, 10)}  # width, height and font in pixels
WIDTH_OF_A_LETTER = 0.56  # of the font's size
PLOT = (580.0, 300.0)  # width and height in points of the axes of a picture of one
LETTER = 5.2  # width in points of a letter of a name
SPREAD = ", \N{PLUS-MINUS SIGN} standard deviation over seeds"  # what bars are
INTERVAL = ", \N{PLUS-MINUS SIGN} 95 % interval"


def figures(report: Report, local: bool) -> dict[str, Any]:
    """Of everything, and of PALs and their rivals."""
    rivals = among(report.costs, report.completed.rivals)
    return {"costs": by_cost(report.costs, TITLES, local), "rivals": by_weights(rivals)}


def by_cost(costs: Sequence[Cost], titles: dict[str, str], with_times: bool) -> dict[str, dict[str, Figure]]:
    """Dev score against weights and, with times, training time, then by metric: a named point for each row."""
    axes = {
        "weights": ("weights to store, times one encoder", {cost.name: cost.times_bert for cost in costs}),
        "stored": ("stored beside the encoder, millions", {cost.name: cost.stored / 1e6 for cost in costs}),
        "added": ("added weights, millions", {cost.name: cost.added / 1e6 for cost in costs}),
    }
    if with_times:
        timed = {cost.name: cost.seconds / 60 for cost in costs if cost.seconds is not None}
        axes["time"] = ("training time of one seed, minutes", timed)
    order = ("overall_raw", *(metric for metric in METRICS if metric != "overall_raw"))
    trees: dict[str, dict[str, Figure]] = {}
    for axis, (title, places) in axes.items():
        for metric in order:
            shown = [cost for cost in costs if cost.name in places and _is_of(cost, metric)]
            if shown:
                trees.setdefault(axis, {})[metric] = _against(title, places, metric, shown, titles)
    return trees


def by_weights(costs: Sequence[Cost]) -> dict[str, Figure]:
    """The overall score of each against stored and against trained weights, with intervals."""
    whole = [cost for cost in costs if "overall_raw" in cost.scores]
    axes = {
        "stored": ("stored beside the encoder, millions", {cost.name: cost.stored / 1e6 for cost in whole}),
        "trained": ("trained weights, millions", {cost.name: cost.trained / 1e6 for cost in whole}),
    }
    shown = {name: _against(*axis, "overall_raw", whole, {}, Cost.half) for name, axis in axes.items() if whole}
    for figure in shown.values():
        figure["layout"]["showlegend"] = False
    return shown


def _is_of(cost: Cost, metric: str) -> bool:
    """Of single-task models that make one row, each stands for itself where one task is shown."""
    return metric in cost.scores and (len(cost.variants) == 1 or metric in OVERALLS)


def _against(
    title: str, places: dict[str, float], metric: str, shown: Sequence[Cost], titles: dict[str, str],
    bar: Callable[[Cost, str], float | None] = Cost.spread,
) -> Figure:  # fmt: skip
    """A named point for each row, with a bar of that length to both sides."""
    bars = {cost.name: bar(cost, metric) or 0.0 for cost in shown}
    papers = list(dict.fromkeys(cost.paper for cost in shown))
    traces = []
    for at, paper in enumerate(papers):
        mine = [cost for cost in shown if cost.paper == paper]
        lengths = [bars[cost.name] for cost in mine]
        traces.append(
            {
                "type": "scatter",
                "cliponaxis": False,
                "mode": "markers",
                "name": titles.get(paper, "one's own"),
                "x": rounded([places[cost.name] for cost in mine], 4),
                "y": rounded([cost.mean(metric) for cost in mine], 4),
                "text": [cost.name for cost in mine],
                "hovertemplate": "%{text}<br>%{y:.3f} at %{x:.3~f}<extra></extra>",
                "marker": {"size": 10, "symbol": SYMBOLS[at % len(SYMBOLS)]},
                "error_y": {"type": "data", "array": rounded(lengths, 4), "thickness": 1, "visible": any(lengths)},
                "meta": {"colour": f"c{at % COLOURS}"},
            }
        )
    ends = [cost.mean(metric) + side * bars[cost.name] for cost in shown for side in (-1, 1)]
    x, y = _span([places[cost.name] for cost in shown], 0.08), _span(ends, 0.12)
    axes = {"xaxis": titled(title) | {"range": x}, "yaxis": titled(f"{SCORES[metric]} on dev") | {"range": y}}
    places_of = {cost.name: (places[cost.name], cost.mean(metric)) for cost in shown}
    named = {screen: _names(places_of, x, y, *size) for screen, size in SCREENS.items()}
    return {"data": traces, "layout": {**axes, "showlegend": len(papers) > 1}, "named": named}


def _span(values: Sequence[float], room: float) -> list[float]:
    """The range of an axis with room at both ends."""
    low, high = min(values), max(values)
    edge = max(room * (high - low) or 0.1 * abs(high) or 1.0, 0.001)  # rounding must leave some of it
    return [round(low - edge, 4), round(high + edge, 4)]


def _names(
    points: dict[str, tuple[float, float]], x: Sequence[float], y: Sequence[float], width: float, height: float,
    font: float,
) -> list[Figure]:  # fmt: skip
    """Each point's name beside it, the highest first, as far as there is room for."""
    names = sorted(points, key=lambda name: -points[name][1])
    scale = width / (x[1] - x[0]), height / (y[1] - y[0])
    places = [((points[name][0] - x[0]) * scale[0], (points[name][1] - y[0]) * scale[1]) for name in names]
    sizes = [(WIDTH_OF_A_LETTER * font * len(name) + 4, font + 4) for name in names]
    named = zip(names, placing.offsets(places, sizes, width, height), strict=True)
    return [
        {"text": name, "x": round(points[name][0], 4), "y": round(points[name][1], 4)}
        | {"ax": round(shift[0]), "ay": -round(shift[1])}
        for name, shift in named
        if shift is not None
    ]


def pictures(report: Report) -> Iterator[Picture]:
    """The overall score on dev against weights: of everything, and of PALs and their rivals."""
    yield from of_all(report.costs)
    yield from of_rivals(among(report.costs, report.completed.rivals))


def of_all(costs: Sequence[Cost]) -> Iterator[Picture]:
    """The overall score on dev against stored weights, a named point for each row."""
    if whole := leaders(costs):
        places, spreads = [cost.times_bert for cost in whole], [cost.spread("overall_raw") for cost in whole]
        draw = partial(_points, whole, places, spreads, SPREAD, "weights to store, times one encoder")
        yield Picture("costs", "Overall score on dev against weights to store", draw)


def of_rivals(costs: Sequence[Cost]) -> Iterator[Picture]:
    """The same against stored and against trained weights, with 95 % intervals."""
    whole = leaders(costs)
    halves = [cost.half("overall_raw") for cost in whole]
    for kind, about in RIVALS.items() if whole else ():
        places = [getattr(cost, kind) / 1e6 for cost in whole]
        draw = partial(_points, whole, places, halves, INTERVAL, f"{about}, millions")
        yield Picture(f"rivals-{kind}", f"PALs and their rivals: overall score on dev against {about}", draw)


def _points(
    costs: Sequence[Cost], places: Sequence[float], bars: Sequence[float | None], about_bars: str, label: str
) -> Drawing:
    """The overall score of each at its place, with its name and a bar to both sides where any has one."""
    figure, axes = canvas(9, 5)
    heights = [cost.mean("overall_raw") for cost in costs]
    lengths = [bar or 0 for bar in bars]
    axes.errorbar(places, heights, yerr=lengths if any(bars) else None, fmt="o", markersize=5, linewidth=0.8)
    axes.set_xlabel(label)
    axes.set_ylabel(f"overall on dev (raw){about_bars if any(bars) else ''}")
    axes.margins(x=0.08, y=0.12)
    _name(axes, [cost.name for cost in costs], places, heights)
    return figure


def _name(axes: Axes, names: Sequence[str], places: Sequence[float], heights: Sequence[float]) -> None:
    """Write each point's name beside it, as far as there is room for."""
    (left, right), (bottom, top), (width, height) = axes.get_xlim(), axes.get_ylim(), PLOT
    points = [
        ((x - left) / (right - left) * width, (y - bottom) / (top - bottom) * height)
        for x, y in zip(places, heights, strict=True)
    ]
    sizes = [(LETTER * len(name), 1.6 * LETTER) for name in names]
    named = zip(names, places, heights, placing.offsets(points, sizes, width, height), strict=True)
    line = {"arrowstyle": "-", "linewidth": 0.4, "color": "0.6", "shrinkA": 0, "shrinkB": 3}
    for name, x, y, shift in named:
        if shift is not None:
            axes.annotate(
                name, (x, y), xytext=shift, textcoords="offset points", fontsize="x-small", ha="center", va="center",
                arrowprops=line,
            )  # fmt: skip


SECTION = Section(
    name="costs",
    title="Costs",
    pictures=pictures,
    part=Part("costs.html", lambda report, _: {"costs": report.costs}, figures),
)
