"""Dev sentences in the plane: those of SST-5 by label, and pairs that are encoded apart as lines."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mtbert.report import markdown
from mtbert.report.paper_tables import title
from mtbert.report.pictures import drawing
from mtbert.scores import points
from mtbert.scores.columns import KEY, PLACES, Frame
from mtbert.scores.points import PICTURED
from mtbert.scores.results import Results
from mtbert.tasks import COURSE, Task, are_the_courses, main

EMBEDDINGS, PAIRS = "embeddings", "pairs"  # names of pictures
PANELS = 8  # of a picture, in the tables' order
COLUMNS = 4
LABELS = ("#2166ac", "#7fb2d8", "#9a9a9a", "#f0a15f", "#a3201f")  # from the most negative to the most positive
LINES = {points.UNLIKE: ("#d55e00", 0.8), points.ALIKE: ("#0072b2", 1.6)}  # colour and width; the last lies on top
ABOUT = (
    "Dev sentences in the plane, by t-SNE of the embeddings that a head reads, of each variant's first seed. "
    "Neighbours in it are neighbours in the embedding; distances between groups, their sizes and places say nothing."
)
ABOUT_PAIRS = (
    "Each line joins the two sentences of a pair: blue where they are alike (paraphrases, similarity 4 to 5), orange "
    "where they are not (similarity 0 to 1). Below the name: the median length of blue and of orange lines, as a share "
    "of the picture's width. The model tells pairs apart where blue is far below orange."
)
# Of tasks of one's own nobody knows which class, or which end of a score's range, is that of pairs that are alike.
ABOUT_OWN_PAIRS = (
    "Each line joins the two sentences of a pair: blue with a label of {high}, orange with one of {low}. Below the "
    "name: the median length of blue and of orange lines, as a share of the picture's width. The model tells pairs "
    "apart where one is far below the other."
)
KINDS = {points.ALIKE: "alike", points.UNLIKE: "not alike"}
OWN_KINDS = {points.ALIKE: "class 1, or a high score", points.UNLIKE: "class 0, or a low score"}


def render(results: Results, folder: Path) -> str:
    """Draw the pictures into a report's folder; return them as Markdown, empty if there are no points."""
    pair_pictures = _pair_pictures(results, folder)
    if pair_pictures:
        pair_pictures = [about_pairs(results), *pair_pictures]
    pictures = [*_sentence_pictures(results, folder), *pair_pictures]
    return "\n\n".join([ABOUT, *pictures]) if pictures else ""


def about_pairs(results: Results) -> str:
    """Return what blue and orange lines are, by the labels of the tasks whose pairs have points."""
    tasks = results.tasks
    if are_the_courses(tasks):
        return ABOUT_PAIRS
    with_points = {task for _, task in pairs(results)}
    of_pairs = [tasks[name] for name in main(tasks) if name in with_points]
    high, low = (", or ".join(_of_kind(task, kind) for task in of_pairs) for kind in (points.ALIKE, points.UNLIKE))
    return ABOUT_OWN_PAIRS.format(high=high, low=low)


def _of_kind(task: Task, kind: int) -> str:
    """Return which labels `points.pair_kinds` takes for a kind, such as `*same* yes` or `*rel* 4 to 5`."""
    fifth = (task.highest - task.lowest) / 5
    if task.kind == "score":
        ends = (task.highest - fifth, task.highest) if kind == points.ALIKE else (task.lowest, task.lowest + fifth)
        labels = f"{ends[0]:g} to {ends[1]:g}"
    else:
        labels = markdown.literal(task.class_names[int(kind == points.ALIKE)])
    return f"*{markdown.literal(task.display_name)}* {labels}"


def _sentence_pictures(results: Results, folder: Path) -> list[str]:
    """Draw a picture of the sentences of each paper that has points of them."""
    by_variant = sentences(results)
    pictures: list[str] = []
    for paper, names in results.by_paper.items():
        panels = {name: by_variant[name] for name in names if name in by_variant}
        if panels:
            caption = f"{COURSE[PICTURED].title} by label, {_shown_rows(next(iter(panels.values())))}"
            pictures.append(_put(paper, EMBEDDINGS, caption, panels, folder))
    return pictures


def _pair_pictures(results: Results, folder: Path) -> list[str]:
    """Draw a picture of the pairs of each paper that has points of them."""
    by_model, tasks = pairs(results), results.tasks
    pictures: list[str] = []
    for paper, names in results.by_paper.items():
        panels: dict[str, Frame] = {}
        for name, task in itertools.product(names, main(tasks)):
            if (name, task) in by_model:
                panels[f"{name}, {tasks[task].display_name}"] = by_model[name, task]
        if panels:
            kinds = KINDS if are_the_courses(tasks) else OWN_KINDS
            pictures.append(_put(paper, PAIRS, "pairs of dev", panels, folder, kinds))
    return pictures


def _shown_rows(table: Frame) -> str:
    """Return how many rows have a point; if these are not all, also how far their labels are from those of all."""
    has_point = table["x"].notna()
    if has_point.all():
        return f"all {len(table):,} rows of dev"
    mean, mean_of_all = table.loc[has_point, "label"].mean(), table["label"].mean()
    part = f"{has_point.sum():,} of {len(table):,} rows of dev"
    return f"{part}; the mean of their labels is {mean:.2f}, of all {mean_of_all:.2f}"


def _put(
    paper: str, picture: str, caption: str, panels: Mapping[str, Frame], folder: Path, kinds: Mapping[int, str] = KINDS
) -> str:
    """Draw the first panels of a paper; return them as Markdown, which tells of more."""
    first = dict(itertools.islice(panels.items(), PANELS))
    if picture == PAIRS:
        figure = _drawn(first, _draw_lines, _legend_of_kinds(kinds))
    else:
        figure = _drawn(first, _draw_points, _legend_of_labels())
    part = f"; the first {PANELS} of {len(panels)} panels" if len(panels) > PANELS else ""
    text = f"**{markdown.literal(title(paper))}**: {caption}{part}"
    return drawing.put(figure, folder, f"{paper}-{picture}", text, f"Dev sentences in the plane, {picture} of {paper}")


def sentences(results: Results) -> dict[str, Frame]:
    """Return by variant x, y and label of dev sentences, of the seed that has points; not all rows need to have one."""
    if results.tasks.get(PICTURED) != COURSE[PICTURED]:
        return {}
    return {variant: table[["x", "y", "label"]] for (variant, task), table in _placed(results) if task == PICTURED}


def pairs(results: Results) -> dict[tuple[str, str], Frame]:
    """Return by variant and task x, y, x2, y2 and `kind` of pairs that have points: those of one seed.

    At most `points.PAIRS` of either kind, in the order of dev.
    """
    by_model: dict[tuple[str, str], Frame] = {}
    tasks = results.tasks
    for (variant, task), placed in _placed(results):
        table = _pairs(placed, tasks[task]) if task in main(tasks) else []
        if len(table):
            by_model[variant, task] = table
    return by_model


def _placed(results: Results) -> Iterator[tuple[tuple[str, str], Frame]]:
    """Yield variant and task with the dev predictions and PLACES, NaN of rows without a point; each has one seed."""
    by_run = results.by_run
    for (variant, seed, task), places in results.points.groupby([*KEY, "task"], observed=True, sort=False):
        predicted = by_run.get((variant, int(seed), "dev"), {}).get(task)
        if predicted is not None:
            yield (variant, task), predicted.merge(places[["row", *PLACES]], on="row", how="left")


def _pairs(predicted: Frame, task: Task) -> Frame:
    """Return the pairs that have points and are alike or not."""
    table = predicted[predicted["x2"].notna()]
    kinds = points.pair_kinds(task, table["label"].to_numpy(float))
    table = table[[*PLACES]].assign(kind=kinds)
    return table[table["kind"] != points.BETWEEN].groupby("kind").head(points.PAIRS)


def lengths(table: Frame) -> dict[int, float]:
    """Return the median length by kind of what `pairs` returns, as a share of the larger side of the picture."""
    across, up = np.ptp(table[["x", "x2"]]), np.ptp(table[["y", "y2"]])
    length = np.hypot(table["x2"] - table["x"], table["y2"] - table["y"]) / max(across, up)
    return length.groupby(table["kind"]).median().to_dict()


def _drawn(panels: dict[str, Frame], draw: Callable[[Axes, str, Frame], None], legend: dict[str, Line2D]) -> Figure:
    rows = -(-len(panels) // COLUMNS)
    columns = max(3, -(-len(panels) // rows))
    figure = drawing.empty(0.5 + rows * (0.4 + 0.95 * drawing.WIDTH / columns))
    for position, (name, table) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(rows, columns, position, xticks=[], yticks=[])
        axes.set_aspect("equal", adjustable="datalim")
        draw(axes, name, table)
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=len(legend), frameon=False)
    return figure


def _draw_points(axes: Axes, name: str, table: Frame) -> None:
    table = table.dropna()
    colours = np.array(LABELS)[table["label"].astype(int)]
    axes.scatter(table["x"], table["y"], c=colours, s=1500 / (100 + len(table)) + 4, linewidths=0)
    axes.set_title(name, fontsize="medium")


def _draw_lines(axes: Axes, name: str, table: Frame) -> None:
    for kind, (colour, width) in LINES.items():
        pairs_of_kind = table[table["kind"] == kind]
        axes.plot(pairs_of_kind[["x", "x2"]].T, pairs_of_kind[["y", "y2"]].T, color=colour, linewidth=width)
    by_kind = lengths(table)
    median_lengths = [f"{100 * by_kind[kind]:.1f} %" for kind in (points.ALIKE, points.UNLIKE) if kind in by_kind]
    axes.set_title(f"{name}\n{' and '.join(median_lengths)}", fontsize="medium")


def _legend_of_labels() -> dict[str, Line2D]:
    names = COURSE[PICTURED].class_names
    return {
        name: Line2D([], [], color=colour, marker="o", linestyle="", markersize=6)
        for name, colour in zip(names, LABELS, strict=True)
    }


def _legend_of_kinds(kinds: Mapping[int, str]) -> dict[str, Line2D]:
    return {words: Line2D([], [], color=LINES[kind][0]) for kind, words in kinds.items()}
