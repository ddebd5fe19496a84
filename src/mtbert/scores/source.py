"""What all models of a build folder share: plan, tasks, speed, and what the table `runs` says of their data."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mtbert import files, layout
from mtbert.scores import sets
from mtbert.scores.schemas import Speed
from mtbert.tasks import COURSE, SPLITS, Task, Tasks, dump_task, read_build

FIFTHS = 5  # of a score's range, by which its labels are counted


@dataclass(frozen=True)
class Source:
    """What all models of a build folder share; `speed` is None if nobody has measured it."""

    build: Path
    catalog: Mapping[str, Any]
    tasks: Tasks
    speed: Speed | None

    @property
    def data(self) -> Path:
        """The folder of all examples."""
        return layout.data(self.build)


def source_of(build: Path) -> Source:
    """Read what all models of a build folder share; DataError if a file of it is missing or damaged."""
    file = layout.speed(build)
    speed = files.read_as(Speed, file, "dvc repro speed") if file.is_file() else None
    catalog = layout.read_catalog(build, "profile", "variants", "data_dir", "encoder")
    return Source(build, catalog, read_build(build), speed)


def cells(source: Source, with_counts: bool) -> dict[str, str]:
    """Return what each row of `runs` says of the data and of the starting weights, by column."""
    return {"data": json.dumps(_data_of(source, with_counts)), "start": json.dumps(source.catalog["encoder"])}


def _data_of(source: Source, with_counts: bool) -> dict[str, Any]:
    """Return the data's name, whose they are and their faults, with counts also how many rows and labels there are."""
    report = layout.data_report(source.data)
    description = {
        "name": _name(source),
        "whose": layout.data_kind(source.build),
        "faults": files.read_json(report).get("faults", []) if report.is_file() else [],
        "rows": _row_counts(source) if with_counts else {},
    }
    if source.tasks != COURSE:
        description["tasks"] = _stated_tasks(source.tasks)
    return description


def _name(source: Source) -> str:
    """Return the data folder as it is set; of a path of this machine its last part alone."""
    data_dir, held_out = source.catalog["data_dir"], source.catalog.get("held_out")
    path = Path(data_dir)
    name = path.name if path.is_absolute() or ".." in path.parts else data_dir
    return f"{name}, dev: {held_out} held-out training rows" if held_out else name


def _stated_tasks(tasks: Tasks) -> dict[str, dict[str, Any]]:
    return {name: dump_task(replace(task, files={})) for name, task in tasks.items()}


def _row_counts(source: Source) -> dict[str, dict[str, Any]]:
    """Return how many rows each split of each task has, and how many of each label, as in `described.RowCounts`."""
    by_task: dict[str, dict[str, Any]] = {}
    for (name, task), split in itertools.product(source.tasks.items(), SPLITS):
        file = layout.examples(source.data, name, split)
        if file.is_file():
            labels = files.read_parquet(file, ["label"])["label"].to_numpy(float)
            counts = [] if np.isnan(labels).any() else _label_counts(labels, task)
            by_task.setdefault(name, {})[split] = {"rows": len(labels), "labels": counts}
    return by_task


def _label_counts(labels: np.ndarray, task: Task) -> list[int]:
    """Return how many labels are of each class, how many sets have each label, or are in each fifth of a range."""
    if task.several:
        return sets.members_of(labels, task.classes).sum(axis=0).tolist()
    bins, ends = task.classes, (0.0, float(task.classes))
    if task.kind == "score":
        bins, ends = FIFTHS, (task.lowest, task.highest)
    return np.histogram(labels, bins, ends)[0].tolist()
