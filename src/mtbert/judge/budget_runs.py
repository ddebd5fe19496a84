"""The runs of one budget, with what they predict of dev, so that any models of them can be compared."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from mtbert.scores import metrics
from mtbert.scores.columns import FOLD, KEY, Frame, example_columns, scored_tasks
from mtbert.scores.described import UNTRAINED
from mtbert.scores.metrics import OVERALLS
from mtbert.scores.results import BASELINE_KINDS, Results
from mtbert.stats import LEAST_SEEDS, Estimate, Interval, Side, difference, folds, influence, mean_of, score
from mtbert.tasks import COURSE, Split, Tasks, main, number_of_folds, repeat_of, whole_repeats

ALIKE = ("code", "profile", "precision", "threads", "keep", "selection")  # in which two sides have to agree
OVERFITTING = "overfitting"  # a metric: overall_normalised on training rows less that on dev
UNEQUAL = 0.05  # examples of a task, or steps, may differ by this share: samplers draw


def are_unequal(first: float, second: float) -> bool:
    """Return whether two numbers of examples, or of steps, differ by more than UNEQUAL of the larger."""
    return abs(first - second) > UNEQUAL * max(first, second)


def tasks_of(metric: str, tasks: Tasks) -> tuple[str, ...]:
    """Return the tasks that a metric is made of."""
    return main(tasks) if metric in (*OVERALLS, OVERFITTING) else (metric,)


@dataclass(frozen=True)
class TaskRows:
    """One task's rows of dev.

    Attributes:
        rows: their `label`, `cluster` (equal for rows that share a sentence), `shared_cluster` (its number in all
            tasks; -1 where no other task has rows of it) and `leaked` (whether it shares a sentence with a training
            row).
        predictions: a column for each variant (or ensemble) and seed; NaN where it does not score a row.
    """

    rows: Frame
    predictions: Frame


@dataclass(frozen=True)
class BudgetRuns:
    """The runs of one budget.

    Attributes:
        runs: a line for each that has a seed, with `variant`, `seed`, `steps` of the optimiser, `examples_sst`, ...,
            `train_overall_normalised`, ALIKE, and `techniques` (digests by name).
        dev: the rows of each task, by its name.
        untrained: by metric, the score of the untrained encoder, where it is known; it counts where evidence has no
            predictions of the encoder.
        settings: by variant or vote, what its runs were resolved to.
        tasks: those of the data.
        baselines: the models that no seed changes: of BASELINE_KINDS. They have neither lines nor settings.
    """

    runs: Frame
    dev: Mapping[str, TaskRows]
    untrained: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tasks: Tasks = field(default_factory=lambda: COURSE)
    baselines: Collection[str] = frozenset()

    @classmethod
    def from_results(cls, results: Results, split: Split = "dev") -> "BudgetRuns":
        """Return the runs of results, with the labelled rows of another split in place of dev's if one is named."""
        is_baseline = results.runs["kind"].isin(BASELINE_KINDS)
        first_seeds = results.runs[~is_baseline].drop_duplicates("variant")
        return cls(
            runs=_lines(results),
            dev=_rows(results, split),
            untrained=results.untrained if split == "dev" else {},
            settings={str(run.variant): json.loads(run.settings) for run in first_seeds.itertuples()},
            tasks=results.tasks,
            baselines=frozenset(results.runs["variant"][is_baseline]),
        )

    def seeds(self, names: Sequence[str], metric: str) -> list[int]:
        """Return the seeds for which all of these models have scores, in order; none if they lack a task.

        A model without seeds has scores for every seed. Where all are such models, the one number of them is returned.
        """
        models = self._model_by_task(names, metric)
        if len(models) < len(tasks_of(metric, self.tasks)):
            return []
        with_seeds = {task: name for task, name in models.items() if name not in self.baselines}
        scored = [self._seeds_by_model[task][name] for task, name in (with_seeds or models).items()]
        if metric == OVERFITTING:
            scored += [{seed for variant, seed in self._on_train if variant == name} for name in names]
        shared = sorted(set.intersection(*scored))
        return whole_repeats(shared, self._folds) if with_seeds else shared

    def lines(self, names: Collection[str], seeds: Collection[int] | None = None) -> Frame:
        """Return the lines of `runs` of these models, of all seeds or of some."""
        lines = self.runs[self.runs["variant"].isin([*names])]
        return lines if seeds is None else lines[lines["seed"].isin([*seeds])]

    def compare(
        self, ours: Sequence[str], other: Sequence[str], metric: str, most: int | None = None, leak_free: bool = False
    ) -> Estimate | None:
        """Return ours - other; None if a side has no run, or they share no row.

        Args:
            ours: models of different tasks, or one of all.
            other: the same; or the untrained encoder alone, of which evidence may have only the score. Then no row
                moves it.
            metric: what is scored.
            most: the first so many seeds of each; None for all.
            leak_free: whether rows that share a sentence with training are left out.
        """
        scored = self._sides(ours, other, metric, most, leak_free)
        if scored is not None:
            return difference(*scored)
        if UNTRAINED in other and metric in self.untrained and not leak_free:
            scored = self._sides(ours, ours, metric, most, leak_free)
            return None if scored is None else difference(scored[0], scored[0].constant(self.untrained[metric]))
        return None

    def scores(self, names: Sequence[str], seeds: Sequence[int], averaged: Collection[str] = ()) -> dict[str, Estimate]:
        """Return by metric the mean score of models, with its error over seeds and rows of dev.

        With fewer than LEAST_SEEDS seeds the error is over rows alone.

        Args:
            names: models of different tasks, or one of all.
            seeds: those that count, at least one; models without seeds have the same scores for each.
            averaged: the tasks of the mean, if these are fewer than all; `overall_raw` is the only mean then.
        """
        sides = self._side_by_task(names, seeds)
        every = main(self.tasks)
        sides_by_metric = dict(sides)
        if averaged and {*averaged} != {*every}:
            if {*averaged} <= sides.keys():
                sides_by_metric["overall_raw"] = mean_of([sides[task] for task in averaged])
        elif every and {*every} <= sides.keys():
            for metric in OVERALLS:
                sides_by_metric[metric] = self._mean_over_tasks(metric, [sides[task] for task in every])
        return {
            metric: score(_of_these_trainings(side), self._bounds(metric, averaged))
            for metric, side in sides_by_metric.items()
        }

    def above_constant(self, names: Sequence[str], seeds: Sequence[int], task: str, constant: float) -> Estimate | None:
        """Return a task's score less that of predicting `constant` for every row; None if the task is not predicted.

        Errors are as for `scores`.
        """
        models = self._model_by_task(names, task)
        shared_seeds = self._shared_seeds(models, seeds)
        if not models or not shared_seeds:
            return None
        usable = _usable(self._predicted(task, models[task], shared_seeds))
        if not usable.any():
            return None
        ours = self._side(task, models[task], shared_seeds, usable)
        other = self._scored(task, np.full((int(usable.sum()), 1), constant), usable, has_seeds=False)
        return difference(_of_these_trainings(ours), other)

    def _side_by_task(self, names: Sequence[str], seeds: Sequence[int]) -> dict[str, Side]:
        """Return by task the scores of models on all rows that they predict, of the seeds that all of them have."""
        models: dict[str, str] = {}
        for task in scored_tasks(self.tasks):
            models |= self._model_by_task(names, task)
        shared_seeds = self._shared_seeds(models, seeds)
        sides: dict[str, Side] = {}
        for task, model in models.items():
            if not shared_seeds:
                continue
            usable = _usable(self._predicted(task, model, shared_seeds))
            if usable.any():
                sides[task] = self._side(task, model, shared_seeds, usable)
        return sides

    def _shared_seeds(self, model_by_task: Mapping[str, str], seeds: Sequence[int]) -> list[int]:
        """Return those of the seeds for which all models that have seeds predict their task."""
        with_seeds = {task: model for task, model in model_by_task.items() if model not in self.baselines}
        shared = [
            seed
            for seed in seeds
            if all(seed in self._seeds_by_model[task][model] for task, model in with_seeds.items())
        ]
        return whole_repeats(shared, self._folds) if with_seeds else shared

    def _bounds(self, metric: str, averaged: Collection[str]) -> Interval:
        """Return the lowest and the highest possible score; arguments as for `scores`."""
        names = averaged if averaged and metric == "overall_raw" else tasks_of(metric, self.tasks)
        lowest, highest = list[float](), list[float]()
        for task in (self.tasks[name] for name in names):
            low, high = metrics.bounds(task.metric)
            lowest.append(metrics.counting_as(metric, task, low))
            highest.append(metrics.counting_as(metric, task, high))
        return fmean(lowest), fmean(highest)

    def _sides(
        self, ours: Sequence[str], other: Sequence[str], metric: str, most: int | None, leak_free: bool
    ) -> tuple[Side, Side] | None:
        """Score both sides, ours first, on the same rows of dev; arguments and None as for `compare`."""
        our_seeds, other_seeds = self._first_seeds(ours, metric, most), self._first_seeds(other, metric, most)
        if not our_seeds or not other_seeds:
            return None
        our_models, other_models = self._model_by_task(ours, metric), self._model_by_task(other, metric)
        our_tasks, other_tasks = list[Side](), list[Side]()
        for task in tasks_of(metric, self.tasks):
            our_predictions = self._predicted(task, our_models[task], our_seeds)
            other_predictions = self._predicted(task, other_models[task], other_seeds)
            usable = _usable(our_predictions) & _usable(other_predictions)
            if leak_free:
                usable &= ~self.dev[task].rows["leaked"].to_numpy(bool)
            if not usable.any():
                return None
            our_tasks.append(self._side(task, our_models[task], our_seeds, usable))
            other_tasks.append(self._side(task, other_models[task], other_seeds, usable))
        return (
            self._over_tasks(metric, ours, our_seeds, our_tasks),
            self._over_tasks(metric, other, other_seeds, other_tasks),
        )

    def _first_seeds(self, names: Sequence[str], metric: str, most: int | None) -> list[int]:
        """Return the first `most` of the seeds of models, of folds in whole repeats."""
        seeds = self.seeds(names, metric)
        return seeds if most is None or len(seeds) <= most else whole_repeats(seeds[:most], self._folds)

    @property
    def _folds(self) -> int:
        """How many folds tasks have; 0 where none has."""
        return number_of_folds(self.tasks)

    def _predicted(self, task: str, model: str, seeds: Sequence[int]) -> np.ndarray:
        """Return what a model predicts of a task, [rows, seeds]; NaN where it does not, and of rows without a label.

        A model without seeds has one column. Of a task with folds a column is a repeat, whose seeds predict each row
        once. It is made once, since the same models are compared dozens of times.
        """
        key = (task, model, *seeds)
        if key not in self._predicted_by_key:
            table = self.dev[task].predictions[model]
            values = (table if model in self.baselines else table[[*seeds]]).to_numpy()
            if self._fold_of_rows(task) is not None and model not in self.baselines:
                values = _of_repeats(values, [repeat_of(seed, self._folds) for seed in seeds])
            has_label = self.dev[task].rows["label"].notna().to_numpy()
            self._predicted_by_key[key] = np.where(has_label[:, None], values, np.nan)
        return self._predicted_by_key[key]

    def _side(self, task: str, model: str, seeds: Sequence[int], usable: np.ndarray) -> Side:
        """Score what a model predicts of the rows of dev that are usable, [rows]; once for the same rows."""
        key = (task, model, *seeds, usable.tobytes())
        if key not in self._sides_by_key:
            predictions = self._predicted(task, model, seeds)[usable]
            side = self._scored(task, predictions, usable, model not in self.baselines)
            self._sides_by_key[key] = self._by_fold(task, side, seeds, usable) if self._folds else side
        return self._sides_by_key[key]

    def _scored(self, task: str, predictions: np.ndarray, usable: np.ndarray, has_seeds: bool) -> Side:
        """Score predictions, [usable rows, seeds]."""
        rows = self.dev[task].rows
        labels, clusters = rows["label"].to_numpy()[usable], rows["cluster"].to_numpy()[usable]
        side = influence.task_side(self.tasks[task], labels, predictions, clusters)
        _, first_rows = np.unique(clusters, return_index=True)
        shared = rows["shared_cluster"].to_numpy()[usable][first_rows]  # all rows of a cluster have one number
        return replace(side, has_seeds=has_seeds, shared_clusters=shared if (shared >= 0).any() else None)

    def _by_fold(self, task: str, side: Side, seeds: Sequence[int], usable: np.ndarray) -> Side:
        """Return a side with a column for each fold: of a task with folds, and of one whose dev all seeds predict."""
        fold_of_rows = self._fold_of_rows(task)
        if fold_of_rows is None:
            return folds.of_seeds(side, [(seed - 1) % self._folds for seed in seeds], self._folds)
        _, first_rows = np.unique(self.dev[task].rows["cluster"].to_numpy()[usable], return_index=True)
        return folds.of_pooled(side, fold_of_rows[usable][first_rows], self._folds)

    def _fold_of_rows(self, task: str) -> np.ndarray | None:
        """Return the fold of each row, [rows]; None where all seeds predict all rows."""
        rows = self.dev[task].rows
        return rows[FOLD].to_numpy(int) if FOLD in rows and (rows[FOLD] >= 0).all() else None

    def _over_tasks(self, metric: str, names: Sequence[str], seeds: Sequence[int], task_sides: Sequence[Side]) -> Side:
        """Return the metric of models from their tasks' scores."""
        side = self._mean_over_tasks("overall_normalised" if metric == OVERFITTING else metric, task_sides)
        if metric == OVERFITTING:
            on_train = np.array([self._on_train[names[0], seed] for seed in seeds])
            return replace(side, scores=on_train - side.scores, moves=-side.moves)
        return side

    def _mean_over_tasks(self, metric: str, task_sides: Sequence[Side]) -> Side:
        """Return the mean over the tasks of a metric, as `metrics.overall` has it of single scores."""
        are_halved = [metrics.is_halved(metric, self.tasks[task]) for task in tasks_of(metric, self.tasks)]
        sides = zip(task_sides, are_halved, strict=True)
        return mean_of([side.halved if is_halved else side for side, is_halved in sides])

    def _model_by_task(self, names: Sequence[str], metric: str) -> dict[str, str]:
        """Return by task of the metric the first of these models that predicts it; tasks without one are left out."""
        models: dict[str, str] = {}
        for task in tasks_of(metric, self.tasks):
            if task not in self.dev:
                continue
            predicting = [name for name in names if name in self._seeds_by_model[task]]
            if predicting:
                models[task] = predicting[0]
        return models

    @cached_property
    def _seeds_by_model(self) -> dict[str, dict[str, set[int]]]:
        """By task and model the seeds for which there are predictions."""
        by_task: dict[str, dict[str, set[int]]] = {}
        for task, rows in self.dev.items():
            by_model = by_task.setdefault(task, {})
            for model, seed in rows.predictions:
                by_model.setdefault(model, set()).add(seed)
        return by_task

    @cached_property
    def _predicted_by_key(self) -> dict[tuple[Any, ...], np.ndarray]:
        """What `_predicted` has made."""
        return {}

    @cached_property
    def _sides_by_key(self) -> dict[tuple[Any, ...], Side]:
        """What `_side` has made."""
        return {}

    @cached_property
    def _on_train(self) -> dict[tuple[str, int], float]:
        """The mean score on training rows of each variant and seed that has one."""
        return self.runs.set_index(KEY)["train_overall_normalised"].dropna().astype(float).to_dict()


def _of_these_trainings(side: Side) -> Side:
    """Return a side that has too few seeds to say something of others as it was trained; any other as it is."""
    return side.as_trained if 0 < side.seeds < LEAST_SEEDS else side


def _usable(predictions: np.ndarray) -> np.ndarray:
    """Return which rows of predictions [rows, seeds] are scored, [rows]: those that all seeds predict."""
    return np.isnan(predictions).sum(axis=1) == 0


def _of_repeats(values: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    """Return predictions [rows, repeats] of predictions [rows, seeds], each NaN outside of its seed's fold."""
    columns: list[np.ndarray] = []
    for number in dict.fromkeys(repeats):
        of_repeat = values[:, np.array(repeats) == number]
        is_missing = np.isnan(of_repeat)
        columns.append(np.where(is_missing.all(axis=1), np.nan, np.where(is_missing, 0, of_repeat).sum(axis=1)))
    return np.column_stack(columns)


def _rows(results: Results, split: Split) -> dict[str, TaskRows]:
    """Return by task the labelled rows of a split."""
    predicted = results.predictions
    labelled = predicted[(predicted["split"] == split) & predicted["label"].notna()]
    if split == "train":
        labelled = _with_rows_of_train(labelled)
    return {str(task): _task_rows(table) for task, table in labelled.groupby("task", observed=True)}


def _with_rows_of_train(table: Frame) -> Frame:
    """Return predictions of train with a number for each id: runs may draw other rows, and number those they draw."""
    repetition = table.groupby([*KEY, "task", "id"], observed=True, sort=False).cumcount()
    rows = table.assign(repetition=repetition).groupby(["task", "id", "repetition"], observed=True, sort=False)
    return table.assign(row=rows.ngroup())


def _task_rows(table: Frame) -> TaskRows:
    """Return the rows of one task's predictions of dev; a row without a cluster is one of its own."""
    table = table.astype({"variant": str}).sort_values("row", kind="stable")
    rows = table.drop_duplicates("row").set_index("row")
    free_numbers = np.arange(len(rows)) + rows["cluster"].max() + 1
    rows = rows.assign(
        cluster=rows["cluster"].where(rows["cluster"] >= 0, free_numbers),
        shared_cluster=rows["shared_cluster"].fillna(-1).astype(int),
        leaked=rows["in_train"] | rows["shares"],
    )
    scored = table.assign(prediction=table["prediction"].where(table["scored"]))
    return TaskRows(rows, scored.pivot(index="row", columns=KEY, values="prediction"))


def _lines(results: Results) -> Frame:
    """Return a line for each run and vote; none for models without seeds, which nobody trained with these settings.

    A vote has what its members have in common: where they differ, it has all of their values, which no single run has.
    Its steps and examples are the sums over its members.
    """
    with_seeds = results.runs[~results.runs["kind"].isin(BASELINE_KINDS)]
    by_run = with_seeds.set_index(KEY, drop=False).to_dict("index")
    examples = example_columns(results.tasks)
    lines: list[dict[str, Any]] = []
    for (name, seed), run in by_run.items():
        members = [by_run[member, seed] for member in results.about[name].members if (member, seed) in by_run] or [run]
        facts_of_members = [_compared_facts(member, results) for member in members]
        lines.append({
            "variant": name,
            "seed": seed,
            "train_overall_normalised": run["train_overall_normalised"],
            "steps": _sum_of_known([member["steps"] for member in members]),
            **{task: _sum_of_known([_examples(member, examples)[task] for member in members]) for task in examples},
            **{fact: _in_common([facts[fact] for facts in facts_of_members]) for fact in ALIKE},
            "techniques": _all_techniques(members),
        })  # fmt: skip
    columns = [*KEY, "train_overall_normalised", "steps", *examples, *ALIKE, "techniques"]
    return pd.DataFrame(lines, columns=columns)


def _compared_facts(run: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Return by name of ALIKE what a run has."""
    about = results.about[run["variant"]]
    of_settings = {"profile": about.profile, "keep": about.keep, "selection": about.selection}
    return {name: run[name] for name in ("code", "precision", "threads")} | of_settings


def _examples(run: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return how many examples of each task a run saw: 0 of those that it does not name, if it names any."""
    is_counted = any(not pd.isna(run[column]) for column in columns)
    return {column: 0 if is_counted and pd.isna(run[column]) else run[column] for column in columns}


def _in_common(values: Sequence[Any]) -> Any:
    """Return the value that all have, else all of them as one text; None is a value, too, that nobody knows."""
    distinct = [*dict.fromkeys(None if pd.isna(value) else value for value in values)]
    return distinct[0] if len(distinct) == 1 else " / ".join(map(str, distinct))


def _all_techniques(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the digests of the techniques of runs by name; of one whose code differs all of them as one text."""
    digests: dict[str, list[str]] = {}
    for run in runs:
        for name, digest in (json.loads(run["settings"]).get("sources") or {}).items():
            digests.setdefault(name, []).append(str(digest))
    return {name: _in_common(of_name) for name, of_name in digests.items()}


def _sum_of_known(values: Sequence[Any]) -> float:
    """Return the sum of the values that are known; NaN where none is."""
    known = [float(value) for value in values if not pd.isna(value)]
    return sum(known) if known else math.nan


def code_mismatches(lines: Frame) -> tuple[str, ...]:
    """Return the columns of ALIKE in which these runs differ, and the techniques whose code differs; none of no run."""
    if not len(lines):
        return ()
    columns = [name for name in ALIKE if lines[name].nunique(dropna=False) > 1]
    digest_counts: Frame = pd.DataFrame([*lines["techniques"]]).nunique()
    techniques = digest_counts.index[digest_counts > 1]
    return (*columns, *techniques)


def mean_per_seed(lines: Frame, column: str) -> float:
    """Return a column's sum over models, as a mean over seeds; NaN if a value is missing."""
    total = float(lines[column].astype(float).sum(skipna=False))
    return total / lines["seed"].nunique()
