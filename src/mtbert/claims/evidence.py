"""The scores of runs on dev, and on resampled rows of dev, so that any two rows of a table can be compared."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mtbert import metrics, seeding
from mtbert.claims.reading import OVERALLS, OVERFITTING
from mtbert.metrics import MAIN_TASKS
from mtbert.stats import Difference, difference, resampling
from mtbert.tasks import TASKS

SEED = 0  # of the resamples, so that the same runs give the same report
Run = tuple[str, int]  # variant or ensemble, and seed
Models = dict[str, str]  # by task, the variant of a row that has it


def tasks_of(metric: str) -> tuple[str, ...]:
    """Return the tasks that a metric is made of."""
    return MAIN_TASKS if metric in (*OVERALLS, OVERFITTING) else (metric,)


@dataclass(frozen=True)
class TaskRows:
    """One task's rows of dev.

    Attributes:
        labels: [rows].
        clusters: [rows], equal for rows that share a sentence.
        predictions: of each run, [rows]; NaN where it does not score a row.
        in_overall: [rows] bool, whether overalls are scored on the row.
        leaked: [rows] bool, whether the row shares a sentence with a training row.
    """

    labels: np.ndarray
    clusters: np.ndarray
    predictions: Mapping[Run, np.ndarray]
    in_overall: np.ndarray
    leaked: np.ndarray


@dataclass(frozen=True)
class Evidence:
    """The runs of one budget; `mtbert.claims` lists the columns of `runs`.

    Attributes:
        runs: one line a run.
        tasks: by name.
        untrained_sts: r on STS of the untrained encoder's cosine; None where it is not known.
        faulty: the values of the column `code` in which a fault is known.
    """

    runs: pd.DataFrame
    tasks: Mapping[str, TaskRows]
    untrained_sts: float | None = None
    faulty: Collection[str] = ()
    _drawn: dict[tuple[str, bytes], resampling.Resamples] = field(default_factory=dict, repr=False, compare=False)

    def seeds(self, row: Sequence[str], metric: str) -> list[int]:
        """Return the seeds of which all models of a row have scores, in order; none where it lacks a task."""
        models = self._models(row, metric)
        sets = [self._seeds_of(task, name) for task, name in models.items()]
        if metric == OVERFITTING:
            sets += [{seed for of, seed in self._on_train() if of == name} for name in row]
        return sorted(set.intersection(*sets)) if len(models) == len(tasks_of(metric)) else []

    def lines(self, row: Collection[str], seeds: Collection[int] | None = None) -> list[dict[str, Any]]:
        """Return the lines of `runs` of these models, of all seeds or of some."""
        lines = self._records()
        return [line for line in lines if line["variant"] in row and (seeds is None or line["seed"] in seeds)]

    def _records(self) -> list[dict[str, Any]]:
        """Return the lines of `runs`, None for what is missing."""
        lines = self.runs.to_dict("records")
        return [{str(name): None if pd.isna(value) else value for name, value in line.items()} for line in lines]

    def compare(
        self, ours: Sequence[str], other: Sequence[str], metric: str, most: int | None = None, leak_free: bool = False
    ) -> Difference | None:
        """Return ours - other; None where a side has no run, or they share no row.

        Args:
            ours: the models of a row.
            other: those of the other.
            metric: what is scored.
            most: the first so many seeds of each; None for all.
            leak_free: whether rows that share a sentence with training are left out.
        """
        seeds = [self.seeds(row, metric)[:most] for row in (ours, other)]
        if not all(seeds):
            return None
        each = [self._scored(task, (ours, other), seeds, metric, leak_free) for task in tasks_of(metric)]
        found = [task for task in each if task is not None]
        if len(found) < len(each):
            return None
        sides = [_joined(metric, [task.sides[at] for task in found]) for at in (0, 1)]
        if metric == OVERFITTING:
            on_train = self._on_train()
            trained = [
                np.array([on_train[row[0], seed] for seed in own])
                for row, own in zip((ours, other), seeds, strict=True)
            ]
            sides = [(train - scores, train - draws) for train, (scores, draws) in zip(trained, sides, strict=True)]
        (our_scores, our_draws), (other_scores, other_draws) = sides
        rows, clusters = sum(task.rows for task in found), min(task.clusters for task in found)
        return difference(our_scores, other_scores, our_draws, other_draws, rows, clusters)

    def sts(self, row: Sequence[str]) -> float | None:
        """Return a row's mean r on STS over its seeds; None where it has none."""
        seeds = self.seeds(row, "sts")
        if not seeds:
            return None
        task, name = self.tasks["sts"], self._models(row, "sts")["sts"]
        runs = (task.predictions[name, seed] for seed in seeds)
        return float(
            np.mean([metrics.pearson(task.labels[known], one[known]) for one in runs for known in [~np.isnan(one)]])
        )

    def _scored(
        self, task: str, rows: Sequence[Sequence[str]], seeds: Sequence[Sequence[int]], metric: str, leak_free: bool
    ) -> "_Scored | None":
        """Score two rows on the rows of dev that all of their runs have."""
        of = self.tasks[task]
        names = [self._models(row, metric)[task] for row in rows]
        columns = [
            np.column_stack([of.predictions[name, seed] for seed in own])
            for name, own in zip(names, seeds, strict=True)
        ]
        kept = np.asarray(~np.isnan(np.column_stack([of.labels, *columns])).any(axis=1))
        if metric != task:
            kept &= of.in_overall
        if leak_free:
            kept &= ~of.leaked
        if not kept.any():
            return None
        labels, predicted = of.labels[kept], [column[kept] for column in columns]
        drawn = self._resamples(task, kept)
        sides = [(_scores(task, labels, p), _draws(task, labels, p, drawn)) for p in predicted]
        return _Scored(sides, int(kept.sum()), len(np.unique(of.clusters[kept])))

    def _resamples(self, task: str, kept: np.ndarray) -> resampling.Resamples:
        """Return the resamples of these rows, the same for all comparisons."""
        key = task, kept.tobytes()
        if key not in self._drawn:
            generator = seeding.stream(SEED, "bootstrap", task)
            self._drawn[key] = resampling.resamples(self.tasks[task].clusters[kept], generator)
        return self._drawn[key]

    def _models(self, row: Sequence[str], metric: str) -> Models:
        """Return the first variant of a row that has each task of the metric."""
        named = {task: [name for name in row if self._seeds_of(task, name)] for task in tasks_of(metric)}
        return {task: names[0] for task, names in named.items() if names}

    def _seeds_of(self, task: str, variant: str) -> set[int]:
        rows = self.tasks.get(task)
        return set() if rows is None else {seed for name, seed in rows.predictions if name == variant}

    def _on_train(self) -> dict[Run, float]:
        scores = {(line["variant"], line["seed"]): line["train_overall_normalised"] for line in self._records()}
        return {run: float(score) for run, score in scores.items() if score is not None}


@dataclass(frozen=True)
class _Scored:
    """Two sides on one task: scores [seeds] and draws [draws, seeds] of each, and numbers of rows and clusters."""

    sides: list[tuple[np.ndarray, np.ndarray]]
    rows: int
    clusters: int


def _scores(task: str, labels: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.array([metrics.SCORES[TASKS[task].metric](labels, column) for column in predicted.T])


def _draws(task: str, labels: np.ndarray, predicted: np.ndarray, drawn: resampling.Resamples) -> np.ndarray:
    if TASKS[task].metric == "accuracy":
        return resampling.accuracies(predicted == labels[:, None], drawn)
    return resampling.pearsons(labels, predicted, drawn)


def _joined(metric: str, parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over tasks of scores and draws; r counts as (r + 1) / 2 in a normalised overall."""
    scores, draws = (np.mean([part[at] for part in parts], axis=0) for at in (0, 1))
    if metric not in ("overall_normalised", OVERFITTING):
        return scores, draws
    r, drawn_r = parts[MAIN_TASKS.index("sts")]
    return scores + (1 - r) / 2 / len(parts), draws + (1 - drawn_r) / 2 / len(parts)
