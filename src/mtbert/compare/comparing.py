"""Compare two sides by `mtbert.stats`."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mtbert import tasks
from mtbert.compare import pairing, reading
from mtbert.compare.pairing import Pairs
from mtbert.errors import DataError, UnknownNameError
from mtbert.judge import Comparison
from mtbert.judge.rule import missing_data
from mtbert.scores import metrics
from mtbert.stats import Side, difference, influence, score
from mtbert.tasks import METRIC_NAMES, OF_CLASSES, OF_SCORES, Task, Tasks


def compare_files(
    ours: str | Path, theirs: str | Path, task: str | None = None, metric: str | None = None,
    margin: float | None = None, build: str | Path = Path("build"),
) -> Comparison:  # fmt: skip
    """Compare as `mtbert compare` does, which describes each argument, and judge by itself whether the two are close.

    The metric of the result is `f1` where that is the F1 of class 1 alone, and `macro_f1` where it is a mean over
    classes.

    Raises:
        DataError: the two do not fit together.
    """
    ours, theirs, build = str(ours), str(theirs), Path(build)
    if build != Path("build") and not build.is_dir():
        raise DataError(f"no folder {build} (--build)")
    described = _task(task, tasks.read_build(build))
    if metric is not None and metric not in METRIC_NAMES:
        raise UnknownNameError("metric", metric, METRIC_NAMES)
    metric = metric or (described.metric if described else "accuracy")
    _check_kind(metric, described)
    metric = _of_task(metric, described)
    if margin is None:
        margin = described.matters if described else 0.01
    if described and described.folds:
        raise DataError(
            f"{described.name} has `folds` in tasks.yaml, which a comparison of files knows nothing of; the report "
            "compares all models (`dvc repro report`)"
        )
    if not 0 <= margin < math.inf:
        raise DataError(f"margin is {margin}; allowed: a number of 0 or more")
    pairs = pairing.pair(reading.read(ours, task, build), reading.read(theirs, task, build), metric, described)
    classes = _f1_classes(metric, pairs, described)
    our_side, their_side = _sides(pairs, metric, classes)
    lowest, highest = bounds = metrics.bounds(metric)
    result = difference(our_side, their_side, _differing(pairs, metric))
    result = replace(result, bounds=(lowest - highest, highest - lowest))
    if metric == "f1" and [*classes] != [1]:
        metric = "macro_f1"
    scores = (
        replace(score(our_side, bounds), is_defined=_is_defined(metric, pairs.ours)),
        replace(score(their_side, bounds), is_defined=_is_defined(metric, pairs.theirs)),
    )
    missing = missing_data(result)
    comparison = Comparison((ours,), (theirs,), metric, "close", margin, result, missing=missing, scores=scores)
    return replace(comparison, p=comparison.uncorrected_p)


def _check_kind(metric: str, task: Task | None) -> None:
    """Raise DataError where a metric is one of sets of labels and the task is not, or of scores, or the reverse."""
    if task is not None and task.several:
        if metric not in (*metrics.OF_SETS, "f1"):
            raise DataError(f"a row of {task.name} has several labels, and metric is {metric}; allowed: micro_f1, f1")
    elif metric in metrics.OF_SETS:
        raise DataError(
            f"metric is {metric}, of several labels a row; name such a task by --task; allowed: accuracy, f1"
        )
    elif task is not None and task.has_one_class and metric in OF_SCORES:
        raise DataError(f"{task.name} has classes, and {metric} is of scores; allowed: {', '.join(OF_CLASSES)}")


def _of_task(metric: str, task: Task | None) -> str:
    """Return what `f1` is of a task: the F1 of class 1 where this is 1, true, or `positive`, else the mean."""
    if task is None or metric != "f1":
        return metric
    if task.several:
        return "labels_f1"
    words = {*task.labels} or {str(number) for number in range(task.classes)}
    is_true = words in ({"0", "1"}, {"false", "true"}) and task.labels.get("true", 1) == 1
    return "f1" if is_true or task.metric == "f1" else "macro_f1"


def _sides(pairs: Pairs, metric: str, classes: Sequence[float]) -> tuple[Side, Side]:
    """Score ours and theirs; DataError where a correlation is not defined, since all labels are one."""
    if metric in metrics.SIGNED and np.ptp(pairs.labels) == 0:
        raise DataError(f"every row has the same label, for which {metric} is not defined; allowed: two labels or more")
    ours = influence.scored(metric, pairs.labels, pairs.ours, pairs.clusters, classes)
    theirs = influence.scored(metric, pairs.labels, pairs.theirs, pairs.clusters, classes)
    are_models = ours.seeds == theirs.seeds == 1  # which are compared as they are: no seed changes them
    our_seeds, their_seeds = (False, False) if are_models else pairs.have_seeds
    return replace(ours, has_seeds=our_seeds), replace(theirs, has_seeds=their_seeds)


def _task(name: str | None, described: Tasks) -> Task | None:
    """Return the task of this name; None without a name."""
    if name is not None and name not in described:
        raise UnknownNameError("task", name, described)
    return None if name is None else described[name]


def _f1_classes(metric: str, pairs: Pairs, task: Task | None) -> Sequence[float]:
    """Return the classes that F1 may be the mean over; of each side, those of them that it has.

    Without a task they are those of any label or prediction: for `f1` class 1 alone where these are 0 and 1.
    """
    if task is not None:
        return metrics.f1_classes(metric, task.classes)
    classes = np.unique(np.concatenate([pairs.labels, pairs.ours.ravel(), pairs.theirs.ravel()])).tolist()
    return [1.0] if metric == "f1" and {*classes} <= {0.0, 1.0} else classes


def _differing(pairs: Pairs, metric: str) -> int:
    """Return the number of clusters in which the sides' mean answers differ; for accuracy, in which they are right."""
    ours, theirs = pairs.ours, pairs.theirs
    if metric == "accuracy":
        labels = pairs.labels[:, None]
        ours, theirs = ours == labels, theirs == labels
    differs = ours.mean(axis=1) != theirs.mean(axis=1)
    return len(np.unique(pairs.clusters[differs]))


def _is_defined(metric: str, predictions: np.ndarray) -> bool:
    """Return whether a metric is defined for predictions, [rows, seeds]: a correlation is not of one value alone."""
    return metric not in metrics.SIGNED or bool((np.ptp(predictions, axis=0) > 0).any())
