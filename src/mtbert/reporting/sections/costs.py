"""Score against what it costs: weights to keep, and time to train."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from mtbert.reporting import placing
from mtbert.reporting.costs import Cost, among, leaders
from mtbert.reporting.figures import COLOURS, SCORES, Figure, rounded, titled
from mtbert.reporting.pictures import Picture, canvas
from mtbert.reporting.published import METRICS, OVERALLS, TITLES
from mtbert.reporting.sections.base import Part, Report, Section

RIVALS = {"stored": "weights to keep beside the encoder", "trained": "trained weights"}
SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-down")
FEW = "triangle-up"  # the symbol of rows that train on few examples, whatever their paper
SCREENS = {"wide": (1000, 330, 12), "narrow": (270, 330, 10)}  # width, height and font in pixels
WIDTH_OF_A_LETTER = 0.56  # of the font's size
LETTER = 5.2  # width in points of a letter of a name
CROWD = 6  # rows of a report that are all named in the picture of everything
STEP = 0.016  # of the width of a column, between points of equal weights
SEVERAL = 2.0  # encoders, from which on a row stands in a column of its own
BLUE = "#0072b2"
FAULTY = "hollow: trained by faulty code"


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
    return {name: _against(*axis, "overall_raw", whole, {}) for name, axis in axes.items() if whole}


def _is_of(cost: Cost, metric: str) -> bool:
    """Of single-task models that make one row, each stands for itself where one task is shown."""
    return metric in cost.scores and (len(cost.variants) == 1 or metric in OVERALLS)


def _against(
    title: str, places: dict[str, float], metric: str, shown: Sequence[Cost], titles: dict[str, str]
) -> Figure:
    """A named point for each row, with its 95 % interval; titles: of the papers, where these matter."""
    papers = list(dict.fromkeys(cost.paper for cost in shown))
    looks = {paper: (SYMBOLS[at % len(SYMBOLS)], f"c{at % COLOURS}") for at, paper in enumerate(papers)}
    traces = [
        _trace([cost for cost in shown if cost.paper == paper], places, metric, look) for paper, look in looks.items()
    ]
    several = looks if titles and len(papers) > 1 else {}
    legend = [_entry(titles.get(paper, "one's own"), *several[paper], paper) for paper in several]
    legend += [_entry(few, FEW, "muted")] if (few := held_to(shown)) else []
    legend += [_entry(FAULTY, "circle-open", "muted")] if any(cost.faulty for cost in shown) else []
    bars = {cost.name: cost.half(metric) or 0.0 for cost in shown}
    ends = [cost.mean(metric) + side * bars[cost.name] for cost in shown for side in (-1, 1)]
    x, y = _span([places[cost.name] for cost in shown], 0.08), _span(ends, 0.12)
    axes = {"xaxis": titled(title) | {"range": x}, "yaxis": titled(f"{SCORES[metric]} on dev") | {"range": y}}
    places_of = {cost.name: (places[cost.name], cost.mean(metric)) for cost in shown}
    named = {screen: _names(places_of, x, y, *size) for screen, size in SCREENS.items()}
    return {"data": [*traces, *legend], "layout": {**axes, "showlegend": bool(legend)}, "named": named}


def _trace(costs: Sequence[Cost], places: Mapping[str, float], metric: str, look: tuple[str, str]) -> Figure:
    """The points of a paper, in its symbol and colour."""
    symbol, colour = look
    lengths = [cost.half(metric) or 0.0 for cost in costs]
    return {
        "type": "scatter",
        "cliponaxis": False,
        "mode": "markers",
        "showlegend": False,
        "legendgroup": costs[0].paper,
        "x": rounded([places[cost.name] for cost in costs], 4),
        "y": rounded([cost.mean(metric) for cost in costs], 4),
        "text": [cost.name for cost in costs],
        "hovertemplate": "%{text}<br>%{y:.3f} at %{x:.3~f}<extra></extra>",
        "marker": {"size": 10, "symbol": [_symbol(cost, symbol) for cost in costs]},
        "error_y": {"type": "data", "array": rounded(lengths, 4), "thickness": 1, "visible": any(lengths)},
        "meta": {"colour": colour},
    }


def _symbol(cost: Cost, symbol: str) -> str:
    """A paper's symbol, or that of few rows; hollow where faulty code trained."""
    return f"{FEW if cost.rows else symbol}{'-open' if cost.faulty else ''}"


def _entry(name: str, symbol: str, colour: str, group: str = "") -> Figure:
    """A line of the legend."""
    marker, point = {"size": 10, "symbol": symbol}, {"x": [None], "y": [None]}
    return {"type": "scatter", "mode": "markers", "name": name, "legendgroup": group or name} | point | {
        "marker": marker, "meta": {"colour": colour},
    }  # fmt: skip


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


# --- pictures ---------------------------------------------------------------------------------------------------------


def pictures(report: Report) -> Iterator[Picture]:
    """The overall score on dev against weights: of everything, and of PALs and their rivals."""
    yield from of_all(report.costs, report.claims.baselines.values())
    yield from of_rivals(among(report.costs, report.completed.rivals))


def of_all(costs: Sequence[Cost], baselines: Iterable[Sequence[str]]) -> Iterator[Picture]:
    """The overall score on dev against stored weights, a strip for each report."""
    if whole := leaders(costs):
        named = outstanding(whole, baselines)
        some = "" if len(named) == len(whole) else f"; of more than {CROWD} rows the best and the baselines have names"
        about = f"{_about_bars(whole)}; where weights are equal, points stand side by side{some}"
        title = f"Overall score on dev against weights to store{about}"
        yield Picture("costs", title, partial(_strips, whole, named))


def of_rivals(costs: Sequence[Cost]) -> Iterator[Picture]:
    """The same against stored and against trained weights, by their powers of ten."""
    whole = leaders(costs)
    for kind, about in RIVALS.items() if whole else ():
        places = {cost.name: getattr(cost, kind) / 1e6 for cost in whole}
        title = f"PALs and their rivals: overall score on dev against {about}{_about_bars(whole)}"
        yield Picture(f"rivals-{kind}", title, partial(_together, whole, places, f"{about}, millions"))


def outstanding(costs: Sequence[Cost], baselines: Iterable[Sequence[str]]) -> set[str]:
    """The rows that are named: of a report with many the best, and what others are tested against."""
    against = {frozenset(names) for names in baselines}
    named = {cost.name for cost in costs if frozenset(cost.variants) in against}
    for paper in {cost.paper for cost in costs}:
        mine = leaders([cost for cost in costs if cost.paper == paper])
        named |= {cost.name for cost in (mine if len(mine) <= CROWD else mine[:1])}
    return named


def _about_bars(costs: Sequence[Cost]) -> str:
    return "; bars: 95 % intervals of means over seeds" if _has_bars(costs) else ""


def _height(costs: Sequence[Cost]) -> str:
    return "overall on dev (raw)" + (", \N{PLUS-MINUS SIGN} 95 % interval" if _has_bars(costs) else "")


def _has_bars(costs: Sequence[Cost]) -> bool:
    return any(cost.half("overall_raw") for cost in costs)


def _strips(costs: Sequence[Cost], named: Collection[str]) -> Drawing:
    """A strip for each report, all by the same weights; rows of several encoders stand in a column of their own."""
    papers = list(dict.fromkeys(cost.paper for cost in costs))
    sides = [[cost for cost in costs if (cost.times_bert >= SEVERAL) == several] for several in (False, True)]
    columns = [side for side in sides if side]
    figure = Drawing(figsize=(9, 0.8 + 1.7 * len(papers)), layout="constrained")
    look = {"width_ratios": [5, 2][: len(columns)], "sharex": "col", "sharey": "row", "squeeze": False}
    shown = []
    for strip, paper in zip(figure.subplots(len(papers), len(columns), **look), papers, strict=True):
        strip[0].set_title(TITLES.get(paper, "Variants of one's own"), loc="left", fontsize="small", weight="bold")
        shown += [(axes, *_beside(column, paper)) for axes, column in zip(strip, columns, strict=True)]
        _break(strip)
    for axes, mine, places in shown:
        _points(axes, mine, places)
    figure.supxlabel("weights to store, times one encoder", fontsize="medium")
    figure.supylabel(_height(costs), fontsize="medium")
    _legend(figure, costs)
    for axes, mine, places in shown:
        _name(axes, leaders(mine), places, named)
    return figure


def _beside(column: Sequence[Cost], paper: str) -> tuple[list[Cost], dict[str, float]]:
    """A paper's rows in a column, and their places: where weights are equal, points stand beside one another."""
    weights = [cost.times_bert for cost in column]
    step = STEP * (max(weights) - min(weights)) or STEP
    mine = sorted((cost for cost in column if cost.paper == paper), key=lambda cost: round(cost.times_bert / step))
    places = {}
    for _, equal in groupby(mine, key=lambda cost: round(cost.times_bert / step)):
        some = leaders(list(equal))
        middle = fmean(cost.times_bert for cost in some)
        places |= {cost.name: middle + (at - (len(some) - 1) / 2) * step for at, cost in enumerate(some)}
    return mine, places


def _break(strip: Sequence[Axes]) -> None:
    """Show that the axis of weights has a gap between two columns."""
    mark = {"marker": [(-1, -2), (1, 2)], "markersize": 8, "linestyle": "none", "color": "k", "clip_on": False}
    for left, right in pairwise(strip):
        left.spines.right.set_visible(False)
        right.spines.left.set_visible(False)
        right.tick_params(left=False)
        for axes, x in ((left, 1), (right, 0)):
            axes.plot([x, x], [0, 1], transform=axes.transAxes, **mark)


def _together(costs: Sequence[Cost], places: Mapping[str, float], label: str) -> Drawing:
    """All in one, each with its name."""
    figure, axes = canvas(9, 5)
    if 0 < min(places.values()) < max(places.values()):
        axes.set_xscale("log")
    _points(axes, costs, places)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(label)
    axes.set_ylabel(_height(costs))
    _legend(figure, costs)
    _name(axes, costs, places, set(places))
    return figure


def _points(axes: Axes, costs: Sequence[Cost], places: Mapping[str, float]) -> None:
    """The overall score of each at its place, with a bar to both sides where it has one."""
    for cost in costs:
        fill, mark = "white" if cost.faulty else BLUE, "^" if cost.rows else "o"
        x, y, bar = places[cost.name], cost.mean("overall_raw"), cost.half("overall_raw")
        axes.errorbar(x, y, yerr=bar, fmt=mark, color=BLUE, markerfacecolor=fill, markersize=5, elinewidth=0.6)
    axes.margins(x=0.08, y=0.12)


def _legend(figure: Drawing, costs: Sequence[Cost]) -> None:
    """What marks mean that not all of these have."""
    entries = []
    if few := held_to(costs):
        entries.append(Line2D([], [], marker="^", linestyle="none", color=BLUE, label=few))
    if any(cost.faulty for cost in costs):
        entries.append(Line2D([], [], marker="o", linestyle="none", color=BLUE, markerfacecolor="white", label=FAULTY))
    if entries:
        figure.legend(handles=entries, loc="outside upper right", ncols=2, fontsize="small", frameon=False)


def held_to(costs: Sequence[Cost]) -> str:
    """To how many rows those were held that did not train on all, in words; empty where all did."""
    counts = sorted({cost.rows for cost in costs if cost.rows})
    return f"{' or '.join(map(str, counts))} rows of each task" if counts else ""


def _name(axes: Axes, costs: Sequence[Cost], places: Mapping[str, float], named: Collection[str]) -> None:
    """Write the names of these beside their points, as far as there is room for."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles where the axes stand
    points = {cost.name: (places[cost.name], cost.mean("overall_raw")) for cost in costs}
    box, scale = axes.get_window_extent(), 72 / figure.dpi
    inside = {name: tuple((axes.transData.transform(at) - (box.x0, box.y0)) * scale) for name, at in points.items()}
    shown = [name for name in points if name in named]
    sizes = [(LETTER * len(name), 1.6 * LETTER) for name in shown]
    others = [at for name, at in inside.items() if name not in named]
    shifts = placing.offsets([inside[name] for name in shown], sizes, box.width * scale, box.height * scale, others)
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    line = {"arrowstyle": "-", "linewidth": 0.4, "color": "0.6", "shrinkA": 0, "shrinkB": 3}
    for name, shift in zip(shown, shifts, strict=True):
        if shift is not None:
            axes.annotate(
                name, points[name], xytext=shift, textcoords="offset points", fontsize="x-small", ha="center",
                va="center", arrowprops=line, bbox=ground,
            )  # fmt: skip


SECTION = Section(
    name="costs",
    title="Costs",
    pictures=pictures,
    part=Part("costs.html", lambda report, _: {"costs": report.costs}, figures),
)
