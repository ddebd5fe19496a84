"""Where sentences lie: what a training leaves of its first dev rows, by t-SNE in two and three dimensions.

`embeddings.safetensors` of a run holds, by task, float16 [sentences, rows, width]: two sentences where a pair is
encoded apart, else one.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load_file

from mtbert import files
from mtbert.errors import DataError
from mtbert.metrics import MAIN_TASKS
from mtbert.reporting import tsne
from mtbert.reporting.catalog import Completed, CompletedEntry

SENTENCES = 1101  # of one variant at most, where each is a point: all of SST's dev, as SlapBERT's figure 2 has it
POINTS = 200  # where two are joined by a line: more hide one another, and the time grows with their square
CLOUDS = "clouds.parquet"  # of a build directory made of evidence, in the place of embeddings
FARTHEST = 500  # from the middle, in steps finer than a pixel
PAIRS = 40  # lines of each kind in a still picture
KINDS = {  # as the report on SlapBERT tells pairs apart: those alike and those not, by the range of the label
    "qqp": {"paraphrases": (1.0, 1.0), "others": (0.0, 0.0)},
    "sts": {"similarity 4 to 5": (4.0, 5.0), "0 to 1": (0.0, 1.0)},
}


@dataclass(frozen=True)
class Cloud:
    """A task's dev rows as one run embeds them.

    Attributes:
        ids, labels: of the rows.
        flat, solid: places by t-SNE, whole numbers, [sentences, rows, 2] and [sentences, rows, 3].
    """

    ids: list[str]
    labels: np.ndarray
    flat: np.ndarray
    solid: np.ndarray

    @property
    def apart(self) -> bool:
        """Whether the two sentences of a pair have a place each."""
        return len(self.flat) == 2


def clouds(build: Path, completed: Completed) -> dict[str, dict[str, Cloud]]:
    """By task and variant, of its first seed; of those that are shown one by one and have left embeddings."""
    if (build / CLOUDS).is_file():
        return read(build / CLOUDS)
    variants = [entry for entry in completed.detailed if not entry.members]
    wanted = [(task, entry) for entry in variants for task in MAIN_TASKS if task in entry.tasks]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy lets others run while it computes
        made = list(pool.map(lambda one: cloud(build, one[1], one[0]), wanted))
    by_task: dict[str, dict[str, Cloud]] = {}
    for (task, entry), one in zip(wanted, made, strict=True):
        if one is not None:
            by_task.setdefault(task, {})[entry.name] = one
    return by_task


PLACES = ("flat_x", "flat_y", "solid_x", "solid_y", "solid_z")


def write(by_task: Mapping[str, Mapping[str, Cloud]], file: Path) -> None:
    """Write the places of all clouds as one table, a line a sentence."""
    tables: list[pd.DataFrame] = []
    for task, by_variant in by_task.items():
        for name, cloud in by_variant.items():
            for side in range(len(cloud.flat)):
                places = np.hstack([cloud.flat[side], cloud.solid[side]]).astype(np.int16)
                about = {"task": task, "variant": name, "sentence": side, "id": cloud.ids, "label": cloud.labels}
                tables.append(pd.DataFrame(places, columns=[*PLACES]).assign(**about))
    columns = ["task", "variant", "sentence", "id", "label", *PLACES]
    with files.new_file(file) as partial:
        table = pd.concat(tables)[columns] if tables else pd.DataFrame(columns=columns)
        table.to_parquet(partial, index=False, compression="zstd")


def read(file: Path) -> dict[str, dict[str, Cloud]]:
    """The clouds that `write` wrote, by task and variant in their order."""
    by_task: dict[str, dict[str, Cloud]] = {}
    for key, lines in files.read_parquet(file).groupby(["task", "variant"], sort=False):
        task, variant = cast(tuple[str, str], key)
        sides = len(np.unique(lines["sentence"].to_numpy()))
        places = lines[[*PLACES]].to_numpy(dtype=float).reshape(sides, -1, len(PLACES))
        first = lines.loc[lines["sentence"] == 0]
        one = Cloud(first["id"].tolist(), first["label"].to_numpy(), places[..., :2], places[..., 2:])
        by_task.setdefault(task, {})[variant] = one
    return by_task


def cloud(build: Path, entry: CompletedEntry, task: str) -> Cloud | None:
    """One task of a variant's first seed; None where the run has left no embeddings of it."""
    kept = load(build, entry, task)
    if kept is None or kept.shape[1] < 4:  # t-SNE needs a few neighbours
        return None
    said = entry.file(build, entry.seeds[0], f"predictions/{task}-dev.parquet")
    known = files.read_parquet(said, ["id", "label"])
    labels = known["label"].to_numpy()
    chosen = balanced(labels[: kept.shape[1]], task, POINTS // len(kept) if task in KINDS else SENTENCES)
    shown = kept[:, chosen]
    sentences, rows, width = shown.shape
    points = shown.reshape(-1, width)
    flat, solid = (_scaled(places).reshape(sentences, rows, -1) for places in tsne.project(points, (2, 3)))
    return Cloud(known["id"].iloc[chosen].tolist(), labels[chosen], flat, solid)


def balanced(labels: np.ndarray, task: str, count: int) -> np.ndarray:
    """At most `count` row numbers, rising, of each kind of label equally many as far as there are; the first ones."""
    kinds = kind_of(labels, task) if task in KINDS else labels
    at = pd.Series(kinds).groupby(kinds, dropna=False).cumcount().to_numpy()  # how many of the kind come before
    return np.sort(np.argsort(at, kind="stable")[:count])


def _scaled(places: np.ndarray) -> np.ndarray:
    """Whole numbers, the farthest at FARTHEST: the scale of t-SNE means nothing, and a page of many is half as long."""
    scaled = np.round(places * (FARTHEST / max(float(np.abs(places).max()), tsne.TINY)))
    return scaled.astype(np.int16).astype(float)  # as the evidence keeps them: a picture differs by the kind of number


def load(build: Path, entry: CompletedEntry, task: str) -> np.ndarray | None:
    """[sentences, rows, width] of a task's first dev rows by the first seed; None where the run has left none."""
    seed = entry.seeds[0]
    if not (entry.directory(build, seed) / "embeddings.safetensors").is_file():
        return None
    file = entry.file(build, seed, "embeddings.safetensors")
    try:
        kept = load_file(file).get(task)
    except SafetensorError as error:
        raise DataError(f"{file} is damaged: {error}; `{entry.remake(seed)}` makes it again") from None
    return None if kept is None else kept.astype(np.float32)


def kind_of(labels: np.ndarray, task: str) -> np.ndarray:
    """The number of each label's kind in KINDS; -1 for those between."""
    kinds = np.full(len(labels), -1)
    for number, (lowest, highest) in enumerate(KINDS[task].values()):
        kinds[(labels >= lowest) & (labels <= highest)] = number
    return kinds
