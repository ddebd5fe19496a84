"""The papers' pictures, one file each: training loss by task, labels, and where embeddings lie.

Embeddings are those of the first dev rows, which each training leaves in `embeddings.safetensors`: by task, float16
[sentences, rows, width], two sentences where a pair is encoded apart, else one. They are shown by t-SNE (van der Maaten
and Hinton 2008), which keeps neighbours, not distances: clusters can be read from it, their places cannot.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from safetensors import SafetensorError
from safetensors.numpy import load_file
from sklearn.manifold import TSNE

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.reporting import curves
from mtbert.reporting.catalog import Catalog, Entry
from mtbert.reporting.published import TITLES
from mtbert.tasks import TASKS

PAIRS = 40  # shown of each kind: more lines than that hide one another
ITERATIONS = 500  # half of scikit-learn's own: the pictures look the same, in half the time
PERPLEXITY = 30.0  # scikit-learn's own, where there are rows enough
COLUMNS = 3
KINDS = {  # as the report on SlapBERT tells pairs apart: those alike and those not, by the range of the label
    "qqp": {"paraphrases": (1.0, 1.0), "others": (0.0, 0.0)},
    "sts": {"similarity 4 to 5": (4.0, 5.0), "0 to 1": (0.0, 1.0)},
}
COLOURS = ("tab:blue", "tab:orange")
Panel = tuple[str, np.ndarray, np.ndarray]  # variant, points, labels


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its file without the ending, and what it shows."""

    name: str
    title: str
    figure: Figure


def write(build: Path, catalog: Catalog, directory: Path) -> list[Picture]:
    """Every picture that the results allow, as PNG files in `directory`."""
    directory.mkdir(parents=True)
    made = []
    for picture in drawn(build, catalog):
        picture.figure.savefig(directory / f"{picture.name}.png", metadata={"Software": None})
        made.append(picture)
    return made


def drawn(build: Path, catalog: Catalog) -> Iterator[Picture]:
    """Losses by paper and task, labels, sentiment in two dimensions, pairs in three."""
    variants = [entry for entry in catalog.selected if not entry.members]
    for paper in dict.fromkeys(entry.paper for entry in variants):
        of_paper = [entry for entry in variants if entry.paper == paper]
        title = TITLES.get(paper, "Variants of one's own")
        yield from losses(build, of_paper, paper, title)
        yield from sentiment(build, of_paper, paper, title)
        for task in KINDS:
            yield from pairs(build, of_paper, task, paper, title)
    yield from labels(build, ("sst", "cfimdb"))


# --- training loss ----------------------------------------------------------------------------------------------------


def losses(build: Path, entries: Sequence[Entry], paper: str, title: str) -> Iterator[Picture]:
    """One picture a task: the training loss of every variant that trains it, a mean over seeds."""
    for task in dict.fromkeys(task for entry in entries for task in entry.tasks):
        shown = {entry.name: curves.task_loss(build, entry, task) for entry in entries if task in entry.tasks}
        figure, axes = canvas(8, 4.5)
        for name, loss in shown.items():
            axes.plot(loss.index, loss.to_numpy(), label=name, linewidth=1.2)
        axes.set_xlabel("step")
        axes.set_ylabel(f"training loss on {TASKS[task].title}")
        axes.legend(fontsize="x-small", ncols=2, frameon=False)
        yield Picture(f"{paper}-loss-{task}", f"{title}: training loss on {TASKS[task].title}", figure)


# --- labels -----------------------------------------------------------------------------------------------------------


def labels(build: Path, tasks: Sequence[str]) -> Iterator[Picture]:
    """How often each label comes, in training and dev sets side by side, as shares of the set."""
    found = {task: shares(build, task) for task in tasks}
    found = {task: table for task, table in found.items() if not table.empty}
    if not found:
        return
    figure = Figure(figsize=(4 * len(found), 3.5), layout="constrained")
    for axes, (task, table) in zip(np.atleast_1d(figure.subplots(1, len(found))), found.items(), strict=True):
        table.plot.bar(ax=axes, rot=0)
        axes.margins(y=0.25)  # room for the legend
        axes.set_title(TASKS[task].title)
        axes.set_xlabel("label")
        axes.set_ylabel("share of the set")
    titles = " and ".join(TASKS[task].title for task in found)
    yield Picture("labels", f"Labels of {titles}", figure)


def shares(build: Path, task: str) -> pd.DataFrame:
    """Share of each label (rows) in train and dev (columns); empty where the corpus is not there."""
    sets = {split: build / "data" / task / f"{split}.parquet" for split in ("train", "dev")}
    columns = {
        split: files.read_parquet(file, ["label"])["label"].astype(int).value_counts(normalize=True)
        for split, file in sets.items()
        if file.is_file()
    }
    return pd.DataFrame(columns).sort_index().fillna(0.0)


# --- embeddings -------------------------------------------------------------------------------------------------------


def sentiment(build: Path, entries: Sequence[Entry], paper: str, title: str) -> Iterator[Picture]:
    """SST dev in two dimensions, a panel a variant, coloured by label."""
    panels = []
    for entry in entries:
        if (found := embeddings(build, entry, "sst")) is not None:
            panels.append((entry.name, tsne(found[0], 2), truth(build, entry, "sst", found.shape[1])))
    if panels:
        figure = grid(panels, _cloud)
        yield Picture(
            f"{paper}-sentiment",
            f"{title}: SST-5 dev embeddings by t-SNE, from negative (blue) to positive (red)",
            figure,
        )


def pairs(build: Path, entries: Sequence[Entry], task: str, paper: str, title: str) -> Iterator[Picture]:
    """Pairs that are encoded apart in three dimensions, a panel a variant, a line between the two sentences."""
    panels = []
    for entry in entries:
        found = embeddings(build, entry, task)
        if found is not None and len(found) == 2:
            kinds = kind_of(truth(build, entry, task, found.shape[1]), task)
            shown = np.concatenate([np.flatnonzero(kinds == kind)[:PAIRS] for kind in range(len(KINDS[task]))])
            points = tsne(found[:, shown].reshape(-1, found.shape[-1]), 3).reshape(2, len(shown), 3)
            panels.append((entry.name, points, kinds[shown]))
    if panels:
        names = " and ".join(f"{kind} ({colour[4:]})" for kind, colour in zip(KINDS[task], COLOURS, strict=True))
        figure = grid(panels, _lines, projection="3d")
        yield Picture(f"{paper}-pairs-{task}", f"{title}: {TASKS[task].title} dev pairs by t-SNE, {names}", figure)


def embeddings(build: Path, entry: Entry, task: str) -> np.ndarray | None:
    """[sentences, rows, width] of a task's first dev rows by the first seed; None where the run has left none."""
    seed = entry.seeds[0]
    file = entry.directory(build, seed) / "embeddings.safetensors"
    try:
        found = load_file(file).get(task) if file.is_file() else None
    except SafetensorError as error:
        raise DataError(f"{file} is damaged: {error}; `{entry.remake(seed)}` makes it again") from None
    return None if found is None else found.astype(np.float32)


def truth(build: Path, entry: Entry, task: str, rows: int) -> np.ndarray:
    """Labels [rows] of a task's first dev rows."""
    file = predictions.path(entry.directory(build, entry.seeds[0]), task, "dev")
    return files.read_parquet(file, ["label"])["label"].to_numpy()[:rows]


def kind_of(labels: np.ndarray, task: str) -> np.ndarray:
    """The number of each label's kind in KINDS; -1 for those between."""
    kinds = np.full(len(labels), -1)
    for number, (lowest, highest) in enumerate(KINDS[task].values()):
        kinds[(labels >= lowest) & (labels <= highest)] = number
    return kinds


def tsne(points: np.ndarray, dimensions: int) -> np.ndarray:
    """Points [rows, width] to [rows, dimensions]; the same points always give the same picture."""
    perplexity = min(PERPLEXITY, (len(points) - 1) / 3)
    start: Any = np.random.default_rng(0).normal(scale=1e-4, size=(len(points), dimensions)).astype(np.float32)
    return TSNE(dimensions, perplexity=perplexity, init=start, max_iter=ITERATIONS, random_state=0).fit_transform(
        points
    )


# --- drawing ----------------------------------------------------------------------------------------------------------


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty figure of that many inches with one pair of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def grid(panels: Sequence[Panel], draw: Callable[[Axes, np.ndarray, np.ndarray], None], projection: str = "") -> Figure:
    """One panel a variant, COLUMNS beside one another."""
    rows = -(-len(panels) // COLUMNS)
    figure = Figure(figsize=(3.2 * min(COLUMNS, len(panels)), 3.2 * rows), layout="constrained")
    for number, (name, points, labelled) in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, min(COLUMNS, len(panels)), number, projection=projection or None)
        draw(axes, points, labelled)
        axes.set_title(name, fontsize="small")
        axes.tick_params(labelbottom=False, labelleft=False, length=0)
    return figure


def _cloud(axes: Axes, points: np.ndarray, labelled: np.ndarray) -> None:
    axes.scatter(*points.T, c=labelled, cmap="coolwarm", s=4)


def _lines(axes: Axes, points: np.ndarray, kinds: np.ndarray) -> None:
    axes.tick_params("z", labelright=False)  # type: ignore[arg-type]
    for first, second, kind in zip(*points, kinds, strict=True):
        axes.plot(*np.stack([first, second]).T, marker="o", markersize=2, linewidth=0.8, color=COLOURS[kind])
