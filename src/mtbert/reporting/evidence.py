"""Dev scores of every run with their resamples, so that any two rows can be compared on the same examples.

Only rows that count are used (`scored` in the prediction files), and rows that share a sentence are drawn together
(`cluster` in build/data/<task>/dev-rows.parquet; where there is no such file every row is drawn alone).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

from mtbert import files, metrics, seeding
from mtbert.errors import DataError
from mtbert.metrics import MAIN_TASKS
from mtbert.reporting import results
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.claims import OVERFITTING
from mtbert.reporting.fairness import Conducts
from mtbert.reporting.published import OVERALLS, SCORED
from mtbert.statistics import bootstrap
from mtbert.tasks import TASKS

SEED = 0  # of the resamples, so that the same runs give the same report
Run = tuple[str, int]  # variant or ensemble, and seed
USED = ["id", "label", "prediction", "scored"]


@dataclass(frozen=True)
class TaskScores:
    """One task's dev scores of runs that count the same rows, a column a run.

    Attributes:
        column: of each run.
        at: the row of the dev set that each row is which counts, rows.
        labels, predicted: theirs, rows, and every run's predictions, rows x runs.
        scores: runs.
        draws: on resampled examples, draws x runs.
        unshared: scores without the rows that share a sentence with a training row, runs; None where none does.
        of_one_answer: the highest score that one answer to all rows may come to by chance; None of a single label.
    """

    column: dict[Run, int]
    at: np.ndarray
    labels: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray
    draws: np.ndarray
    unshared: np.ndarray | None
    of_one_answer: float | None


class Evidence:
    """What all runs of a build directory scored on dev, and would have on other examples, and how they were made."""

    def __init__(self, build: Path, completed: Completed) -> None:
        """Read every selected run that is there; DataError where predictions do not fit together."""
        self.planned = completed.seeds
        self.conducts = Conducts(build, completed)
        self.tasks = {task: scored for task in SCORED if (scored := _task(build, completed, task))}
        self.on_train: dict[Run, float] = {}
        for entry, seed in completed.runs:
            score = _on_train(build, entry, seed)
            if score is not None:
                self.on_train[entry.name, seed] = score

    def seeds(self, variants: Sequence[str], metric: str) -> set[int]:
        """The seeds of which a row of these variants has a score."""
        sets = [{seed for name, seed in self._runs(task) if name == of} for task, of in self._of(variants, metric)]
        if metric == OVERFITTING:
            sets += [{seed for name, seed in self.on_train if name == variant} for variant in variants]
        return set.intersection(*sets) if sets else set()

    def has(self, variant: str, metric: str) -> bool:
        """Whether a variant was scored on a task of the metric."""
        return any(name == variant for task in tasks_of(metric) for name, _ in self._runs(task))

    def scores(self, variants: Sequence[str], metric: str, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """A row's scores by seed, and draws x seeds; the variants together have every task of the metric."""
        parts = []
        for task, name in self._of(variants, metric):
            found = [self._scored(task, (name, seed)) for seed in seeds]
            parts.append(
                (
                    np.array([one.scores[at] for one, at in found]),
                    np.column_stack([one.draws[:, at] for one, at in found]),
                )
            )
        observed, draws = (sum(part[side] for part in parts) / len(parts) for side in (0, 1))
        if metric in ("overall_normalised", OVERFITTING):  # r counts as (r + 1) / 2
            (r, drawn_r), share = parts[MAIN_TASKS.index("sts")], len(parts)
            observed, draws = observed + ((1 - r) / 2) / share, draws + ((1 - drawn_r) / 2) / share
        if metric == OVERFITTING:
            on_train = np.array([self.on_train[variants[0], seed] for seed in seeds])
            observed, draws = on_train - observed, on_train - draws
        return np.asarray(observed), np.asarray(draws)

    def unshared(self, variants: Sequence[str], metric: str, seeds: Sequence[int]) -> np.ndarray | None:
        """The scores without rows that share a sentence with training; None where none does, and of overfitting."""
        found = [[self._scored(task, (name, seed)) for seed in seeds] for task, name in self._of(variants, metric)]
        if metric == OVERFITTING or all(one.unshared is None for of_task in found for one, _ in of_task):
            return None
        parts = [
            np.array([(one.scores if one.unshared is None else one.unshared)[at] for one, at in of_task])
            for of_task in found
        ]
        if metric == "overall_normalised":
            at = MAIN_TASKS.index("sts")
            parts[at] = (parts[at] + 1) / 2
        return np.mean(parts, axis=0)

    def learnt_nothing(self, variants: Sequence[str], metric: str, seeds: Sequence[int]) -> dict[str, str]:
        """By variant of a row: the tasks that it is scored on as if it gave all rows one answer, in words.

        So it is in more than half of the seeds: its accuracy is at most two standard errors above the share of the most
        frequent label, or its r at most two above 0. Rows of one label cannot tell.
        """
        said: dict[str, list[str]] = {}
        for task, name in self._of(variants, metric):
            found = [self._scored(task, (name, seed)) for seed in seeds]
            judged = [(float(one.scores[at]), one.of_one_answer) for one, at in found]
            low = [score for score, bound in judged if bound is not None and score <= bound]
            if 2 * len(low) > len(seeds):
                about = f"{fmean(low):.3f}, no more than one answer to all rows"
                said.setdefault(name, []).append(f"it learnt nothing of {TASKS[task].title} ({about})")
        return {name: ", and ".join(tasks) for name, tasks in said.items()}

    def examples(self, variants: Sequence[str], metric: str, seed: int) -> int:
        """How many dev rows count in a row's score of a seed, of all tasks of the metric."""
        return sum(len(self._scored(task, (name, seed))[0].labels) for task, name in self._of(variants, metric))

    def same_rows(self, ours: Sequence[str], other: Sequence[str], metric: str, seed: int) -> bool:
        """Whether two rows' scores of a seed count the same dev rows."""
        pairs = zip(self._of(ours, metric), self._of(other, metric), strict=True)
        return all(self._scored(task, (a, seed))[0] is self._scored(task, (b, seed))[0] for (task, a), (_, b) in pairs)

    def _of(self, variants: Sequence[str], metric: str) -> list[tuple[str, str]]:
        """Each task of the metric with the first of the variants that was scored on it; empty where one has none."""
        pairs = []
        for task in tasks_of(metric):
            runs = self._runs(task)
            named = [variant for variant in variants if any(name == variant for name, _ in runs)]
            pairs += [(task, named[0])] if named else []
        return pairs if len(pairs) == len(tasks_of(metric)) else []

    def _runs(self, task: str) -> list[Run]:
        return [run for one in self.tasks.get(task, ()) for run in one.column]

    def _scored(self, task: str, run: Run) -> tuple[TaskScores, int]:
        """Where a run's scores of a task are: those that count its rows, and its column."""
        return next((one, one.column[run]) for one in self.tasks[task] if run in one.column)


def tasks_of(metric: str) -> tuple[str, ...]:
    """The tasks that a metric is made of."""
    return MAIN_TASKS if metric in (*OVERALLS, OVERFITTING) else (metric,)


def _on_train(build: Path, entry: CompletedEntry, seed: int) -> float | None:
    """overall_normalised on the training rows that were scored; None without. `results.scores` compares it."""
    if not (entry.directory(build, seed) / "metrics.json").is_file():
        return None
    return results.read_metrics(entry, build, seed)["train"].get("overall_normalised")


def _task(build: Path, completed: Completed, task: str) -> list[TaskScores]:
    """One for each choice of rows that count; empty where there are no predictions, or the labels are withheld."""
    tables = _tables(build, completed, task)
    _check_labels(tables, task)
    by_rows: dict[bytes, dict[Run, pd.DataFrame]] = {}
    for run, table in tables.items():
        by_rows.setdefault(table["scored"].to_numpy(dtype=bool).tobytes(), {})[run] = table
    return [_scored_alike(build, task, some) for some in by_rows.values()]


def _scored_alike(build: Path, task: str, tables: Mapping[Run, pd.DataFrame]) -> TaskScores:
    """Runs that count the same rows (`run.selection` is the same)."""
    first = next(iter(tables.values()))
    counts = first["scored"].to_numpy(dtype=bool)
    clusters, shared = (column[counts] for column in _rows(build / "data" / task / "dev-rows.parquet", len(first)))
    labels = first["label"].to_numpy(dtype=float)[counts]
    predicted = np.column_stack([table["prediction"].to_numpy(dtype=float)[counts] for table in tables.values()])
    drawn = bootstrap.resamples(clusters, seeding.stream(SEED, "bootstrap", task))
    right = predicted == labels[:, None] if TASKS[task].metric == "accuracy" else None
    draws = bootstrap.pearsons(labels, predicted, drawn) if right is None else bootstrap.accuracies(right, drawn)
    scores = _scores(task, labels, predicted)
    unshared = _scores(task, labels[~shared], predicted[~shared]) if shared.any() and not shared.all() else None
    column = {run: number for number, run in enumerate(tables)}
    bound = _of_one_answer(labels, right is None)
    return TaskScores(column, np.flatnonzero(counts), labels, predicted, scores, draws, unshared, bound)


def _of_one_answer(labels: np.ndarray, correlated: bool) -> float | None:
    """The score of one answer to all rows, the most frequent label or anything for r, and two standard errors."""
    _, times = np.unique(labels, return_counts=True)
    if len(times) < 2:
        return None
    share = 0.0 if correlated else float(times.max() / len(labels))
    return share + 2 * float(np.sqrt((1.0 if correlated else share * (1 - share)) / len(labels)))


def _tables(build: Path, completed: Completed, task: str) -> dict[Run, pd.DataFrame]:
    """Every run's dev predictions of a task whose labels are known."""
    tables: dict[Run, pd.DataFrame] = {}
    for entry, seed in completed.runs:
        file = entry.predictions(build, seed, task, "dev") if task in entry.tasks else None
        if file is not None:
            table = files.read_parquet(file, USED)
            if not np.isnan(table["label"].to_numpy(float)).all():
                tables[entry.name, seed] = table
    return tables


def _scores(task: str, labels: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.array([metrics.SCORES[TASKS[task].metric](labels, column) for column in predicted.T])


def _check_labels(tables: Mapping[Run, pd.DataFrame], task: str) -> None:
    """All tables hold the same rows in the same order with the same labels; DataError where they do not."""
    for run, table in tables.items():
        first = next(iter(tables))
        for column in ("id", "label"):
            if not table[column].equals(tables[first][column]):
                names = " and by ".join(f"{name}, seed {seed}" for name, seed in (first, run))
                raise DataError(
                    f"dev predictions of {task} by {names} differ in column {column}, so they cannot be compared; "
                    "train both on the same data (`dvc repro`)"
                )


def _rows(file: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Each row's cluster, and whether it shares a sentence with train; each row alone where there is no such file."""
    if not file.is_file():
        return np.arange(rows), np.zeros(rows, dtype=bool)
    table = files.read_parquet(file, ["cluster", "in_train", "shares"])
    if len(table) != rows:
        raise DataError(
            f"{file} holds {len(table)} rows, the predictions {rows}; `dvc repro` makes both from the same data"
        )
    return table["cluster"].to_numpy(), ((table["in_train"] != "") | table["shares"]).to_numpy(dtype=bool)
