"""The runs of one budget, with what they predict of dev, so that any two rows of a table can be compared."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from mtbert.claims import sides
from mtbert.claims.reading import OVERFITTING
from mtbert.errors import DataError
from mtbert.results.metrics import OVERALLS, SIGNED
from mtbert.results.tables import KEY, UNTRAINED, Frame, Results, counted
from mtbert.stats import Difference, Side, difference, influence, mean_of
from mtbert.tasks import COURSE, Tasks, main

ALIKE = ("code", "profile", "precision", "threads", "keep", "selection")  # in which two sides have to agree
UNEQUAL = 0.05  # examples of a task, or steps, may differ by this share: samplers draw


def tasks_of(metric: str, described: Tasks = COURSE) -> tuple[str, ...]:
    """Return the tasks that a metric is made of."""
    return main(described) if metric in (*OVERALLS, OVERFITTING) else (metric,)


@dataclass(frozen=True)
class TaskRows:
    """One task's rows of dev.

    Attributes:
        rows: their `label`, `cluster` (equal for rows that share a sentence) and `leaked` (whether it shares a sentence
            with a training row).
        predictions: a column for each variant (or ensemble) and seed; NaN where it does not score a row.
    """

    rows: Frame
    predictions: Frame


@dataclass(frozen=True)
class BudgetRuns:
    """The runs of one budget.

    Attributes:
        runs: a line for each, with `variant`, `seed`, `steps` of the optimiser, `examples_sst`, ...,
            `train_overall_normalised`, ALIKE, and `techniques` (digests by name).
        tasks: by name.
        untrained: by task, the score of the untrained encoder by cosine, where it is known.
        settings: by variant or vote, what its runs were resolved to.
        described: the tasks of the data.
    """

    runs: Frame
    tasks: Mapping[str, TaskRows]
    untrained: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, sides.Settings] = field(default_factory=dict)
    described: Tasks = field(default_factory=lambda: COURSE)

    def seeds(self, row: Sequence[str], metric: str) -> list[int]:
        """Return the seeds for which all models of a row have scores, in order; none where it lacks a task."""
        models = self._models(row, metric)
        if len(models) < len(tasks_of(metric, self.described)):
            return []
        scored = [{*self.tasks[task].predictions[name]} for task, name in models.items()]
        if metric == OVERFITTING:
            for name in row:
                scored.append({seed for variant, seed in self._on_train if variant == name})
        return sorted(set.intersection(*scored))

    def lines(self, row: Collection[str], seeds: Collection[int] | None = None) -> Frame:
        """Return the lines of `runs` of these models, of all seeds or of some."""
        lines = self.runs[self.runs["variant"].isin([*row])]
        return lines if seeds is None else lines[lines["seed"].isin([*seeds])]

    def compare(
        self, ours: Sequence[str], other: Sequence[str], metric: str, most: int | None = None, leak_free: bool = False
    ) -> Difference | None:
        """Return ours - other; None where a side has no run, or they share no row.

        Args:
            ours: the models of a row.
            other: the models of the other row; or the untrained encoder alone, whose score no seed changes.
            metric: what is scored.
            most: the first so many seeds of each; None for all.
            leak_free: whether rows that share a sentence with training are left out.
        """
        untrained = self.untrained.get(metric) if UNTRAINED in other and not leak_free else None
        if untrained is not None:
            other = ours
        our_seeds = self.seeds(ours, metric)[:most]
        other_seeds = self.seeds(other, metric)[:most]
        if not our_seeds or not other_seeds:
            return None
        our_tasks, other_tasks = list[Side](), list[Side]()
        for task in tasks_of(metric, self.described):
            our_predictions = self._predictions(task, ours, metric, our_seeds)
            other_predictions = self._predictions(task, other, metric, other_seeds)
            kept = self._kept(task, np.column_stack([our_predictions, other_predictions]), leak_free)
            if not kept.any():
                return None
            our_tasks.append(self._scored(task, our_predictions, kept))
            other_tasks.append(self._scored(task, other_predictions, kept))
        our_side = self._over_tasks(metric, ours, our_seeds, our_tasks)
        if untrained is not None:
            return difference(our_side, our_side.constant(untrained))
        return difference(our_side, self._over_tasks(metric, other, other_seeds, other_tasks))

    def _predictions(self, task: str, row: Sequence[str], metric: str, seeds: Sequence[int]) -> np.ndarray:
        """Return what the model of a row that has the task predicts, [rows, seeds]."""
        return self.tasks[task].predictions[self._models(row, metric)[task]][seeds].to_numpy()

    def _kept(self, task: str, predictions: np.ndarray, leak_free: bool) -> np.ndarray:
        """Return which rows of dev count, [rows]: those with a label that all runs predict, leak-free where asked."""
        rows = self.tasks[task].rows
        kept = rows["label"].notna().to_numpy() & ~np.isnan(predictions).any(axis=1)
        return kept & ~rows["leaked"].to_numpy(bool) if leak_free else kept

    def _scored(self, task: str, predictions: np.ndarray, kept: np.ndarray) -> Side:
        """Score predictions [rows, seeds] on the rows of dev that count."""
        labels, clusters = (self.tasks[task].rows[column].to_numpy()[kept] for column in ("label", "cluster"))
        return influence.of_task(self.described[task], labels, predictions[kept], clusters)

    def _over_tasks(self, metric: str, row: Sequence[str], seeds: Sequence[int], task_sides: Sequence[Side]) -> Side:
        """Return the metric of a row from its tasks' scores; x of `SIGNED` counts as (x + 1) / 2 where normalised."""
        if metric in ("overall_normalised", OVERFITTING):
            names = tasks_of(metric, self.described)
            task_sides = [self._normalised(name, side) for name, side in zip(names, task_sides, strict=True)]
        side = mean_of(task_sides)
        if metric == OVERFITTING:
            on_train = np.array([self._on_train[row[0], seed] for seed in seeds])
            return replace(side, scores=on_train - side.scores, moves=-side.moves)
        return side

    def _normalised(self, task: str, side: Side) -> Side:
        return side.scaled(0.5, 0.5) if self.described[task].metric in SIGNED else side

    def _models(self, row: Sequence[str], metric: str) -> dict[str, str]:
        """Return by task of the metric the first variant of a row that predicts it; tasks without one are left out."""
        models: dict[str, str] = {}
        for task in tasks_of(metric, self.described):
            if task in self.tasks:
                names = [name for name in row if name in self.tasks[task].predictions]
                models |= {task: names[0]} if names else {}
        return models

    @cached_property
    def _on_train(self) -> dict[tuple[str, int], float]:
        return self.runs.set_index(KEY)["train_overall_normalised"].dropna().astype(float).to_dict()


def of_results(results: Results) -> BudgetRuns:
    """Return results in the form that the rule takes."""
    dev = results.predictions[(results.predictions["split"] == "dev") & results.predictions["label"].notna()]
    tasks = {str(task): _rows(table) for task, table in dev.groupby("task", observed=True)}
    first = results.trained.drop_duplicates("variant")
    settings = {str(run.variant): json.loads(run.settings) for run in first.itertuples()}
    return BudgetRuns(_lines(results), tasks, results.untrained, settings, results.tasks)


def _rows(table: Frame) -> TaskRows:
    table = table.astype({"variant": str}).sort_values("row", kind="stable")
    rows = table.drop_duplicates("row").set_index("row")
    own_cluster = np.arange(len(rows)) + rows["cluster"].max() + 1
    rows = rows.assign(
        cluster=rows["cluster"].where(rows["cluster"] >= 0, own_cluster),
        leaked=rows["in_train"] | rows["shares"],
    )
    scored = table.assign(prediction=table["prediction"].where(table["scored"]))
    return TaskRows(rows, scored.pivot(index="row", columns=KEY, values="prediction"))


def _lines(results: Results) -> Frame:
    """Return a line for each run and vote.

    A vote has the settings of its first member, and its steps and examples are the sums over its members.
    """
    by_run = results.trained.set_index(KEY, drop=False).to_dict("index")
    lines = []
    for (name, seed), run in by_run.items():
        members = [by_run[member, seed] for member in results.about[name].members if (member, seed) in by_run] or [run]
        settings = json.loads(members[0]["settings"])
        about = results.about[members[0]["variant"]]
        trained = pd.DataFrame(members)[["steps", *counted(results.tasks)]].astype(float).sum(min_count=1)
        lines.append(
            {"variant": name, "seed": seed, "train_overall_normalised": run["train_overall_normalised"]}
            | trained.to_dict()
            | {key: members[0][key] for key in ("code", "precision", "threads")}
            | {"profile": about.profile, "keep": about.run.keep, "selection": about.run.selection}
            | {"techniques": settings.get("sources") or {}}
        )
    return pd.DataFrame(lines)


def unlike(lines: Frame) -> tuple[str, ...]:
    """Return the columns of ALIKE in which these runs differ, and the techniques whose code differs."""
    columns = [name for name in ALIKE if lines[name].nunique(dropna=False) > 1]
    digests: Frame = pd.DataFrame([*lines["techniques"]]).nunique()
    return (*columns, *digests.index[digests > 1])


def mean_per_seed(lines: Frame, column: str) -> float:
    """Return a column's sum over a row's models, as a mean over seeds; NaN where a value is missing."""
    return float(lines[column].astype(float).sum(skipna=False)) / lines["seed"].nunique()


def at_a_third(whole: BudgetRuns, third: BudgetRuns) -> BudgetRuns:
    """Return the runs of `third` with the code of their variant's runs in `whole`, and a third of their steps.

    Raises:
        DataError: there is no such run.
    """
    kept = [name for name in third.runs["variant"].unique() if _is_a_third(whole.lines([name]), third.lines([name]))]
    if not kept:
        raise DataError(
            "no run of --third had a third of the updates that its variant has in the report, and the same code and "
            "settings; allowed: evidence of the same variants at a third of their budget"
        )
    tasks: dict[str, TaskRows] = {}
    for task, rows in third.tasks.items():
        columns = [(variant, seed) for variant, seed in rows.predictions if variant in kept]
        tasks[task] = replace(rows, predictions=rows.predictions[columns])
    return replace(third, runs=third.lines(kept), tasks=tasks)


def _is_a_third(whole: Frame, third: Frame) -> bool:
    if not len(whole) or unlike(pd.concat([whole, third])):
        return False
    steps = mean_per_seed(whole, "steps")
    return abs(3 * mean_per_seed(third, "steps") - steps) <= UNEQUAL * steps
