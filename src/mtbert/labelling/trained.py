"""The learning curve of a trained way: the dev scores of its models on parts of train."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from mtbert import files, layout, tasks
from mtbert.data import parts
from mtbert.errors import DataError
from mtbert.labelling.curve import LEAST, Point, of_other_sizes
from mtbert.provenance import manifests, seals
from mtbert.scores.columns import FOLD, Frame
from mtbert.stats import influence
from mtbert.tasks import Task


def measure(build: Path, task: Task, variants: Mapping[float, str], seeds: Sequence[int]) -> list[Point]:
    """Return a point for each share of train that has LEAST rows with each seed, the smallest first.

    A point has a column for each seed; of a task with folds, for each repeat of seeds, which predict each row once.

    Args:
        build: the build folder.
        task: whose dev is scored.
        variants: by share, the variant that trains on it.
        seeds: those of the variants.

    Raises:
        DataError: a model is missing, damaged, or made from other inputs than lie in `build`.
    """
    names = ["cluster", *([FOLD] if task.folds else [])]
    rows = files.read_parquet(layout.examples(layout.data(build), task.name, "dev"), names)
    clusters = rows["cluster"].to_numpy()
    folds = rows[FOLD].to_numpy() if task.folds else np.zeros(len(rows), int)
    points: list[Point] = []
    for share in sorted(variants):
        sizes = [_rows_of_part(build, task, share, seed) for seed in seeds]
        if min(sizes) < LEAST:
            continue
        labels = np.full(len(rows), np.nan)
        is_scored = np.zeros(len(rows), bool)
        columns: list[np.ndarray] = []
        for seeds_of_repeat in _repeats(task, seeds):
            predicted = np.full(len(rows), np.nan)
            for seed in seeds_of_repeat:
                numbers = np.flatnonzero(folds == _fold(task, seed))
                table = _predictions(build, task, variants[share], seed)
                predicted[numbers] = table["prediction"].to_numpy(float)
                labels[numbers] = table["label"].to_numpy(float)
                is_scored[numbers] = table["scored"].to_numpy(bool)
            columns.append(predicted)
        counts = is_scored & ~np.isnan(labels)
        side = influence.task_side(task, labels[counts], np.stack(columns, axis=1)[counts], clusters[counts])
        points.append(Point(round(float(np.mean(sizes))), side))
    return of_other_sizes(points)


def _repeats(task: Task, seeds: Sequence[int]) -> Iterable[list[int]]:
    """Return the seeds that predict all of dev together: one each, or of a task with folds those of a whole repeat."""
    by_repeat: dict[int, list[int]] = {}
    for seed in tasks.whole_repeats(seeds, task.folds):
        number = tasks.repeat_of(seed, task.folds) if task.folds else seed
        by_repeat.setdefault(number, []).append(seed)
    return by_repeat.values()


def _fold(task: Task, seed: int) -> int:
    return task.fold(seed) if task.folds else 0


def _rows_of_part(build: Path, task: Task, share: float, seed: int) -> int:
    """Return how many rows of train a seed's training reads."""
    file = layout.examples(layout.data(build), task.name, "train")
    rows = files.read_parquet(file, ["cluster", "dev_folds"])
    clusters = rows["cluster"].to_numpy()
    if task.folds:
        clusters = clusters[rows["dev_folds"].to_numpy() >> task.fold(seed) & 1 == 0]
    return len(parts.nested(clusters, share, seed))


def _predictions(build: Path, task: Task, variant: str, seed: int) -> Frame:
    """Return what a model predicts of dev; DataError unless it is whole and made from what lies in the build folder."""
    run = layout.run(build, variant, seed)
    if not seals.is_sealed(run):
        raise DataError(f"{run} is missing; `{layout.remedy(run)}` trains it")
    if not manifests.is_finished(run, build):
        raise DataError(
            f"{run} was made from other settings, data, weights or code than lie in {build}; "
            f"`{layout.remedy(run)}` trains it again"
        )
    file = layout.predictions(run, task.name, "dev")
    seals.check(run, only=[file.relative_to(run).as_posix()])
    return files.read_parquet(file, ["label", "prediction", "scored"])
