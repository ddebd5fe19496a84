"""Embeddings of dev sentences, by t-SNE.

t-SNE (`mtbert.reporting.tsne`) keeps neighbours, not distances: clusters can be read from it, their places cannot.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from mtbert.metrics import MAIN_TASKS
from mtbert.reporting import embeddings
from mtbert.reporting.embeddings import KINDS, PAIRS, Cloud, kind_of
from mtbert.reporting.figures import LABELS, Figure
from mtbert.reporting.pictures import Group, Picture, first, grid, groups
from mtbert.reporting.sections.base import Part, Report, Section, once
from mtbert.tasks import TASKS

PAIR_COLOURS = ("tab:blue", "tab:orange")
Clouds = dict[str, dict[str, Cloud]]  # by task and variant


@once
def clouds(report: Report) -> Clouds:
    """Where each variant's first seed puts dev rows."""
    return embeddings.clouds(report.build, report.completed)


def figures(report: Report, local: bool) -> dict[str, Any]:
    """The points of each task and variant in two and three dimensions."""
    return {"clouds": by_task(clouds(report), numbered(clouds(report)))}


def choices(report: Report) -> dict[str, dict[str, list[str]]]:
    """The ids of the rows that points are of, in the order of their numbers."""
    return {"rows": {task: list(numbers) for task, numbers in numbered(clouds(report)).items()}}


def numbered(clouds: Clouds) -> dict[str, dict[str, int]]:
    """By task, a number for the id of each row that an embedding is shown of."""
    numbers: dict[str, dict[str, int]] = {}
    for task, by_variant in clouds.items():
        ids = dict.fromkeys(row for cloud in by_variant.values() for row in cloud.ids)
        numbers[task] = {row: at for at, row in enumerate(ids)}
    return numbers


def by_task(clouds: Clouds, rows: dict[str, dict[str, int]]) -> dict[str, dict[str, dict[str, Figure]]]:
    """Embeddings by task, variant and number of dimensions; `rows` numbers each task's rows by their ids."""
    return {
        task: {
            name: {"2": _cloud(cloud, cloud.flat, task, rows[task]), "3": _cloud(cloud, cloud.solid, task, rows[task])}
            for name, cloud in clouds[task].items()
        }
        for task in MAIN_TASKS
        if task in clouds
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
    by_axis = {axis: [None if math.isnan(value) else int(value) for value in values] for axis, values in columns}
    return {axis: by_axis[axis] for axis in "xy"}, {axis: by_axis[axis] for axis in by_axis if axis == "z"}


def pictures(report: Report) -> Iterator[Picture]:
    """Sentiment in two dimensions, and pairs that are encoded apart in three, of each paper's variants."""
    for group in groups(report.completed):
        ours = group.of(clouds(report))
        yield from sentiment(ours.get("sst", {}), group)
        for task in KINDS:
            yield from pairs(ours.get(task, {}), task, group)


def sentiment(by_variant: dict[str, Cloud], group: Group) -> Iterator[Picture]:
    """SST dev in two dimensions, a panel a variant, coloured by label."""
    if by_variant:
        title = f"{group.title}: SST-5 dev embeddings by t-SNE, from negative (blue) to positive (red)"
        panels, title = first(by_variant, title)
        draw = partial(grid, panels, _points, ticks=False)
        yield Picture(f"{group.paper}-sentiment", title, draw, group.paper)


def _points(axes: Axes, cloud: Cloud) -> None:
    axes.scatter(*cloud.flat[0].T, c=cloud.labels, cmap="coolwarm", s=4)


def pairs(by_variant: dict[str, Cloud], task: str, group: Group) -> Iterator[Picture]:
    """Pairs that are encoded apart in three dimensions, a panel a variant, a line between the two sentences."""
    apart = {name: cloud for name, cloud in by_variant.items() if cloud.apart}
    if apart:
        names = " and ".join(f"{kind} ({colour[4:]})" for kind, colour in zip(KINDS[task], PAIR_COLOURS, strict=True))
        panels, title = first(apart, f"{group.title}: {TASKS[task].title} dev pairs by t-SNE, {names}")
        yield Picture(f"{group.paper}-pairs-{task}", title, partial(_draw_pairs, panels, task), group.paper)


def _draw_pairs(panels: dict[str, Cloud], task: str) -> Drawing:
    return grid(panels, partial(_lines, task), ticks=False, projection="3d")


def _lines(task: str, axes: Axes, cloud: Cloud) -> None:
    kinds = kind_of(cloud.labels, task)
    for kind, colour in enumerate(PAIR_COLOURS):
        one, other = cloud.solid[:, np.flatnonzero(kinds == kind)[:PAIRS]]
        axes.add_collection(Line3DCollection(list(np.stack([one, other], axis=1)), colors=colour, linewidths=0.8))
        axes.scatter(*np.concatenate([one, other]).T, color=colour, s=3)


SECTION = Section(
    name="embeddings",
    title="Embeddings",
    pictures=pictures,
    part=Part(
        "embeddings.html", lambda report, _: {"clouds": clouds(report)}, figures, choices,
        rows=lambda report: numbered(clouds(report)),
    ),
)  # fmt: skip
