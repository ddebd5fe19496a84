"""What `mtbert study --curve` prints: dev scores by the number of training rows, and what twice as many would bring.

First baselines, then a trained way. In both the rows of a part are those of `mtbert.data.parts` for the same seed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mtbert import layout, tasks
from mtbert.baselines.rows import Rows
from mtbert.data import drawing
from mtbert.data.readers import Example
from mtbert.labelling import curve, trained
from mtbert.labelling.curve import Gain, Point
from mtbert.pretrained import loading
from mtbert.pretrained.embeddings import Embeddings
from mtbert.provenance import seals
from mtbert.scores import metrics
from mtbert.scores.described import FROZEN, TFIDF
from mtbert.study.parts import WayOnParts
from mtbert.study.understanding import FIRST_FOLD
from mtbert.tasks import Task

SHORT = "cannot be told: fewer than three parts of train have 20 rows and another size"
ONE_SEED = "cannot be told from one seed, or one repeat of folds"


def run(folder: Path, build: Path) -> None:
    """Print a line for each task and baseline as soon as it is known.

    The frozen encoder is that of `build`; where none is there yet, TF-IDF is alone, and a line says so.
    """
    tasks_by_name = tasks.read_folder(folder)
    splits = drawing.Splits(folder, tasks_by_name)
    methods: dict[str, Callable[..., np.ndarray]] = {TFIDF: _no_encoder}
    names = {TFIDF: "TF-IDF"}
    print("\nDev scores of baselines that train on an eighth, a quarter, half and all of train (rows in brackets):")
    if tasks.number_of_folds(tasks_by_name):
        print("(of a task with folds, dev is the first one)")
    if seals.is_sealed(layout.encoder(build)):
        methods[FROZEN] = Embeddings(layout.encoder(build), layout.cache(build, "embeddings"))
        names[FROZEN] = f"frozen {loading.card(layout.encoder(build)).name}"
    else:
        print(f"(without a frozen encoder: {build} has none yet; `dvc repro encoder` fetches it)")
    for task in tasks_by_name.values():
        if task.serves:
            continue
        train, dev = (_labelled(task, splits.read(task, split, FIRST_FOLD).examples) for split in ("train", "dev"))
        for method, embed in methods.items():
            points = curve.measure(method, task, train, dev, embed)
            _print(task, names[method], points)


def run_trained(way: WayOnParts, build: Path) -> None:
    """Print a line for each task of a way that is trained on parts of train.

    Raises: DataError as for `trained.measure`.
    """
    seeds = "one seed" if len(way.seeds) == 1 else f"{len(way.seeds)} seeds, each on parts of its own"
    print(f"\nThe same for {way.name}, {seeds}:")
    tasks_by_name = tasks.read_build(build)
    for name, variants in way.variants.items():
        _print(tasks_by_name[name], way.name, trained.measure(build, tasks_by_name[name], variants, way.seeds))


def _print(task: Task, method: str, points: Sequence[Point]) -> None:
    print(f"{task.display_name:<12.12} {method:<14} {_line(task, points)}", flush=True)


def _no_encoder(texts: Sequence[str]) -> np.ndarray:
    raise NotImplementedError("TF-IDF embeds nothing")


def _labelled(task: Task, examples: Sequence[Example]) -> Rows:
    """Return the rows that have a label, as baselines take them."""
    every = Rows.of_examples(examples, task)
    return every.part(np.flatnonzero(~np.isnan(every.labels)))


def _line(task: Task, points: Sequence[Point]) -> str:
    """Return the scores of all parts, the last one's interval, and what twice as many rows bring."""
    if not points:
        return SHORT
    scores = "  ".join(f"{point.side.mean:.3f} ({point.rows:,})" for point in points)
    interval = curve.scored(task, points[-1]).interval
    ends = f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
    gain = curve.gain(points)
    unknown = SHORT if len(points) < curve.LEAST_POINTS else ONE_SEED
    return f"{metrics.in_words(task)} {scores}{ends}; twice as many rows: {in_words(gain) if gain else unknown}"


def in_words(gain: Gain) -> str:
    """Return such as `+0.021 [+0.004, +0.037]`; what cannot be told is said so."""
    expected, low, high = (round(value, 3) + 0.0 for value in (gain.expected, gain.low, gain.high))  # no minus 0
    numbers = f"{expected:+.3f} [{low:+.3f}, {high:+.3f}]"
    return numbers if gain.is_known else f"cannot be told ({numbers})"
