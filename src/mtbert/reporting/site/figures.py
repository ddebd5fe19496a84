"""Plotly's figures as plain mappings, in trees whose levels are the page's choices, such as task, variant, dimensions.

Colours are names of the style sheet's variables (`meta.colour`), which page.js looks up, so that a figure follows the
reader's light or dark mode. Points name their rows (`meta.rows`), whose sentences stand once in the page.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mtbert.metrics import MAIN_TASKS
from mtbert.reporting import mistakes, placing
from mtbert.reporting.claims import Comparison
from mtbert.reporting.costs import Cost
from mtbert.reporting.embeddings import KINDS, Cloud, kind_of
from mtbert.reporting.forest import COLOURS as VERDICTS
from mtbert.reporting.forest import Forest, Line, placed
from mtbert.reporting.markdown import HEADINGS, interval, number
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.published import METRICS, OVERALLS
from mtbert.tasks import TASKS

COLOURS = 8  # of the style sheet's --c0 to --c7, told apart by the colour-blind too
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-up")
ROW_HEIGHT = 26  # pixels of a bar
FORESTS = {"yes": "holds", "no": "does not hold", "open": "cannot be told"}  # colours of differences, and their names
SCREENS = {"wide": (1000, 330, 12), "narrow": (270, 330, 10)}  # width, height and font in pixels
WIDTH_OF_A_LETTER = 0.56  # of the font's size
LABELS = {  # what the classes of a task mean
    "sst": ("very negative", "negative", "neutral", "positive", "very positive"),
    "qqp": ("no paraphrase", "paraphrase"),
    "cfimdb": ("negative", "positive"),
}
SCORES = {**HEADINGS, "overall_raw": "overall", "overall_normalised": "overall, normalised"}
Figure = dict[str, Any]


def styles(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """A colour and a dash for every variant, different for the first 48."""
    looks = [(f"c{at % COLOURS}", DASHES[at // COLOURS % len(DASHES)]) for at in range(len(names))]
    return {name: {"colour": colour, "dash": dash} for name, (colour, dash) in zip(names, looks, strict=True)}


def losses(found: dict[str, dict[str, pd.Series]], looks: dict[str, dict[str, str]]) -> dict[str, Figure]:
    """Training loss by task: a line for each variant."""
    return {
        task: {
            "data": [_line(name, loss, looks[name]) for name, loss in several.items()],
            "layout": {"xaxis": titled("step"), "yaxis": titled(f"training loss on {TASKS[task].title}")},
        }
        for task, several in found.items()
    }


def _line(name: str, loss: pd.Series, look: dict[str, str]) -> Figure:
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


def costs(found: Sequence[Cost], titles: dict[str, str], with_times: bool) -> dict[str, dict[str, Figure]]:
    """Dev score against weights and, with times, training time, then by metric: a named point for each row."""
    axes = {
        "weights": ("weights to store, times one encoder", {cost.name: cost.times_bert for cost in found}),
        "stored": ("stored beside the encoder, millions", {cost.name: cost.stored / 1e6 for cost in found}),
        "added": ("added weights, millions", {cost.name: cost.added / 1e6 for cost in found}),
    }
    if with_times:
        timed = {cost.name: cost.seconds / 60 for cost in found if cost.seconds is not None}
        axes["time"] = ("training time of one seed, minutes", timed)
    order = ("overall_raw", *(metric for metric in METRICS if metric != "overall_raw"))
    trees: dict[str, dict[str, Figure]] = {}
    for axis, (title, places) in axes.items():
        for metric in order:
            shown = [cost for cost in found if cost.name in places and _is_of(cost, metric)]
            if shown:
                trees.setdefault(axis, {})[metric] = _against(title, places, metric, shown, titles)
    return trees


def rivals(found: Sequence[Cost]) -> dict[str, Figure]:
    """The overall score of each against stored and against trained weights, with intervals."""
    whole = [cost for cost in found if "overall_raw" in cost.scores]
    axes = {
        "stored": ("stored beside the encoder, millions", {cost.name: cost.stored / 1e6 for cost in whole}),
        "trained": ("trained weights, millions", {cost.name: cost.trained / 1e6 for cost in whole}),
    }
    shown = {name: _against(*axis, "overall_raw", whole, {}) for name, axis in axes.items() if whole}
    for figure in shown.values():
        figure["layout"]["showlegend"] = False
        for trace in figure["data"]:
            trace["error_y"] |= _intervals([cost for cost in whole if cost.name in trace["text"]])
    return shown


def _intervals(found: Sequence[Cost]) -> Figure:
    halves = [cost.half(metric="overall_raw") for cost in found]
    return {"array": rounded([half or 0 for half in halves], 4), "visible": any(halves)}


def forests(found: Mapping[str, Forest]) -> dict[str, Figure]:
    """Every comparison of a paper's claims: difference, interval, margin as a band, what was published as a mark."""
    return {paper: _forest(one) for paper, one in found.items()}


def _forest(one: Forest) -> Figure:
    traces = [_margins(one), *_differences(one), *_published(one)]
    ticks = {"wide": [line.label for line in one.lines], "narrow": [line.short for line in one.lines]}
    x = titled("difference of the scores, ours less the other's") | {"range": [-one.reach, one.reach], "zeroline": True}
    y = {"range": [-one.height, 1], "tickvals": [line.y for line in one.lines], "showgrid": False, "zeroline": False}
    layout = {"xaxis": x, "yaxis": y | {"automargin": True}, "height": 110 + 19 * one.height, "barmode": "overlay"}
    return {"data": traces, "layout": layout, "ticks": ticks, "heads": [vars(head) for head in one.heads]}


def _margins(one: Forest) -> Figure:
    return {
        "type": "bar",
        "orientation": "h",
        "name": "less than matters",
        "y": [line.y for line in one.lines],
        "base": [-line.part.matters for line in one.lines],
        "x": [2 * line.part.matters for line in one.lines],
        "width": 1,
        "hoverinfo": "skip",
        "meta": {"colour": "line"},
    }


def _differences(one: Forest) -> list[Figure]:
    """A trace a colour, which the verdicts on the comparisons have."""
    run = [(line, line.found) for line in one.lines if line.found is not None]
    traces = []
    for colour, name in FORESTS.items():
        mine = [(line, found) for line, found in run if VERDICTS[line.answer] == colour]
        if mine:
            above = rounded([found.high - found.difference for _, found in mine], 4)
            below = rounded([found.difference - found.low for _, found in mine], 4)
            error = {
                "type": "data",
                "symmetric": False,
                "array": above,
                "arrayminus": below,
                "thickness": 2,
                "width": 0,
            }
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": rounded([found.difference for _, found in mine], 4),
                    "y": [line.y for line, _ in mine],
                    "text": [_told(line, found) for line, found in mine],
                    "hovertemplate": "%{text}<extra></extra>",
                    "marker": {"size": 9},
                    "error_x": error,
                    "meta": {"colour": colour},
                }
            )
    return traces


def _told(line: Line, found: Comparison) -> str:
    shown = f"{number(found.difference, '+')} {interval(found.low, found.high, '+')}"
    return f"{line.label}<br>claimed: {line.part.expects}<br>{shown}, seeds: {found.seeds}<br>by itself: {line.answer}"


def _published(one: Forest) -> list[Figure]:
    known = [(line, line.part.published) for line in one.lines if line.part.published is not None]
    places = [placed(value, one.reach) for _, value in known]
    if not known:
        return []
    symbols = [("triangle-right" if x > 0 else "triangle-left") if edge else "diamond-open" for x, edge in places]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "published (a triangle: farther out)",
            "x": rounded([x for x, _ in places], 4),
            "y": [line.y for line, _ in known],
            "text": [f"{line.label}<br>published: {number(value, '+')}" for line, value in known],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"size": 9, "symbol": symbols},
            "meta": {"colour": "muted"},
        }
    ]


def _is_of(cost: Cost, metric: str) -> bool:
    """Of single-task models that make one row, each stands for itself where one task is shown."""
    return metric in cost.scores and (len(cost.variants) == 1 or metric in OVERALLS)


def _against(
    title: str, places: dict[str, float], metric: str, shown: Sequence[Cost], titles: dict[str, str]
) -> Figure:
    papers = list(dict.fromkeys(cost.paper for cost in shown))
    traces = []
    for at, paper in enumerate(papers):
        mine = [cost for cost in shown if cost.paper == paper]
        spreads = [cost.spread(metric) for cost in mine]
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
                "error_y": {"type": "data", "array": rounded([spread or 0 for spread in spreads], 4), "thickness": 1}
                | {"visible": any(spreads)},
                "meta": {"colour": f"c{at % COLOURS}"},
            }
        )
    x, y = _span([places[cost.name] for cost in shown], 0.08), _span([cost.mean(metric) for cost in shown], 0.12)
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
    found = zip(names, placing.offsets(places, sizes, width, height), strict=True)
    return [
        {"text": name, "x": round(points[name][0], 4), "y": round(points[name][1], 4)}
        | {"ax": round(shift[0]), "ay": -round(shift[1])}
        for name, shift in found
        if shift is not None
    ]


def distances(found: dict[str, Answers]) -> Figure | None:
    """How many steps predicted sentiment is from the label: a bar for each variant, the best above."""
    if not found:
        return None
    shares = {name: mistakes.distances(said.confusion) for name, said in found.items()}
    names = sorted(shares, key=lambda name: shares[name][0])  # plotly's first bar is the lowest
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": "right" if steps == 0 else f"{steps} off",
            "y": names,
            "x": rounded([shares[name][steps] for name in names], 4),
            "hovertemplate": "%{y}: %{x:.1%}<extra>%{fullData.name}</extra>",
            "meta": {"colour": f"s{steps}"},
        }
        for steps in range(len(shares[names[0]]))
    ]
    x = titled("share of dev rows") | {"tickformat": ".0%", "range": [0, 1]}
    size = {"height": 130 + ROW_HEIGHT * len(names)}
    return {"data": traces, "layout": {"barmode": "stack", "xaxis": x, "yaxis": {"automargin": True}, **size}}


def clouds(
    found: dict[str, dict[str, Cloud]], rows: dict[str, dict[str, int]]
) -> dict[str, dict[str, dict[str, Figure]]]:
    """Embeddings by task, variant and number of dimensions; `rows` numbers each task's rows by their ids."""
    return {
        task: {
            name: {"2": _cloud(cloud, cloud.flat, task, rows[task]), "3": _cloud(cloud, cloud.solid, task, rows[task])}
            for name, cloud in found[task].items()
        }
        for task in MAIN_TASKS
        if task in found
    }


def _cloud(cloud: Cloud, places: np.ndarray, task: str, rows: dict[str, int]) -> Figure:
    """Points in the colour of their kind, and a line between the two sentences of a pair."""
    numbers = np.array([rows[row] for row in cloud.ids])
    traces = []
    for name, colour, mine in kinds(cloud.labels, task):
        if not mine.any():
            continue
        if cloud.apart:
            traces.append(_joined(places[:, mine], colour))
        flat, depth = coordinates(np.concatenate(list(places[:, mine])))
        first, *second = (numbers[mine].tolist() for _ in places)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                **flat,
                "marker": {"size": 7, "opacity": 0.85},
                "hovertemplate": "%{text}<extra></extra>",
                "meta": {"colour": colour, "rows": sum(second, first), "apart": cloud.apart, **depth},
            }
        )
    axes = {axis: {"visible": False} for axis in ("xaxis", "yaxis")}
    return {"data": traces, "layout": {**axes, "height": 560, "meta": {"solid": places.shape[-1] == 3}}}


def kinds(labels: np.ndarray, task: str) -> list[tuple[str, str, np.ndarray]]:
    """Name, colour and rows (a mask) of each kind: the classes of sentiment, or pairs alike, unlike and between."""
    if task not in KINDS:
        return [(name, f"d{label}", labels == label) for label, name in enumerate(LABELS[task])]
    numbers = kind_of(labels, task)
    named = [(name, f"c{number}", numbers == number) for number, name in enumerate(KINDS[task])]
    return [("between", "between", numbers == -1), *named]


def _joined(places: np.ndarray, colour: str) -> Figure:
    """Lines between the first and the second sentence of each pair, with a gap after each."""
    gaps = np.full_like(places[0], np.nan)
    ends = np.stack([*places, gaps], axis=1).reshape(-1, places.shape[-1])
    flat, depth = coordinates(ends)
    return {
        "type": "scatter",
        "mode": "lines",
        **flat,
        "line": {"width": 1},
        "opacity": 0.5,
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"colour": colour, **depth},
    }


Places = dict[str, list[int | None]]


def coordinates(points: np.ndarray) -> tuple[Places, Places]:
    """Points [rows, 2 or 3], whole numbers or NaN: x and y, and z where there is one, which the page turns."""
    columns = zip("xyz", points.T.tolist(), strict=False)
    found = {axis: [None if math.isnan(value) else int(value) for value in values] for axis, values in columns}
    return {axis: found[axis] for axis in "xy"}, {axis: found[axis] for axis in found if axis == "z"}


def titled(text: str) -> dict[str, Any]:
    """An axis."""
    return {"title": {"text": text}, "automargin": True}


def rounded(values: Sequence[float] | np.ndarray, digits: int) -> list[float | None]:
    """For JSON: few digits, and null for what is not finite."""
    return [round(float(value), digits) if np.isfinite(value) else None for value in values]
