"""The scores of runs on dev, and how its rows move them, so that any two rows of a table can be compared."""

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
from mtbert.stats import Difference, difference, influence
from mtbert.stats.influence import Scored
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
class Evidence:
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
        """Return the seeds of which all models of a row have scores, in order; none where it lacks a task."""
        models = self._models(row, metric)
        sets = [{*self.tasks[task].predictions[name]} for task, name in models.items()]
        if metric == OVERFITTING:
            sets += [{seed for of, seed in self._on_train if of == name} for name in row]
        return sorted(set.intersection(*sets)) if len(models) == len(tasks_of(metric, self.described)) else []

    def lines(self, row: Collection[str], seeds: Collection[int] | None = None) -> Frame:
        """Return the lines of `runs` of these models, of all seeds or of some."""
        own = self.runs[self.runs["variant"].isin([*row])]
        return own if seeds is None else own[own["seed"].isin([*seeds])]

    def compare(
        self, ours: Sequence[str], other: Sequence[str], metric: str, most: int | None = None, leak_free: bool = False
    ) -> Difference | None:
        """Return ours - other; None where a side has no run, or they share no row.

        Args:
            ours: the models of a row.
            other: those of the other; or the untrained encoder alone, whose score no seed changes.
            metric: what is scored.
            most: the first so many seeds of each; None for all.
            leak_free: whether rows that share a sentence with training are left out.
        """
        untrained = self.untrained.get(metric) if UNTRAINED in other and not leak_free else None
        sides = (ours, other if untrained is None else ours)
        seeds = [self.seeds(row, metric)[:most] for row in sides]
        if not all(seeds):
            return None
        found = [self._scored(task, sides, seeds, metric, leak_free) for task in tasks_of(metric, self.described)]
        scored = [one for one in found if one is not None]
        if len(scored) < len(found):
            return None
        first = self._joined(metric, ours, seeds[0], [task[0] for task in scored])
        second = self._joined(metric, sides[1], seeds[1], [task[1] for task in scored])
        if untrained is not None:
            second = np.full_like(second[0], untrained), 0 * second[1]
        return difference(first, second, sum(rows for *_, rows, _ in scored), min(clusters for *_, clusters in scored))

    def _joined(self, metric: str, row: Sequence[str], seeds: Sequence[int], parts: Sequence[Scored]) -> Scored:
        """Return a side's mean over tasks; x of `SIGNED` counts as (x + 1) / 2 in a normalised overall."""
        if metric in ("overall_normalised", OVERFITTING):
            signed = [self.described[task].metric in SIGNED for task in tasks_of(metric, self.described)]
            parts = [
                ((scores + 1) / 2, moves / 2) if is_signed else (scores, moves)
                for is_signed, (scores, moves) in zip(signed, parts, strict=True)
            ]
        scores = np.mean([scores for scores, _ in parts], axis=0)
        moves = np.vstack([moves for _, moves in parts]) / len(parts)  # tasks have other clusters
        if metric == OVERFITTING:
            return np.array([self._on_train[row[0], seed] for seed in seeds]) - scores, -moves
        return scores, moves

    def _scored(
        self, task: str, sides: Sequence[Sequence[str]], seeds: Sequence[Sequence[int]], metric: str, leak_free: bool
    ) -> tuple[Scored, Scored, int, int] | None:
        """Score two rows on the rows of dev that all of their runs have; these rows' number, and their clusters'."""
        of = self.tasks[task]
        ours, other = (
            of.predictions[self._models(row, metric)[task]][own].to_numpy()
            for row, own in zip(sides, seeds, strict=True)
        )
        kept = ~np.isnan(np.column_stack([of.rows["label"], ours, other])).any(axis=1)
        if leak_free:
            kept &= ~of.rows["leaked"].to_numpy(bool)
        if not kept.any():
            return None
        labels, clusters = (of.rows[column].to_numpy()[kept] for column in ("label", "cluster"))
        one, two = (
            influence.scored(self.described[task].metric, labels, said[kept], clusters) for said in (ours, other)
        )
        return one, two, len(labels), len(np.unique(clusters))

    def _models(self, row: Sequence[str], metric: str) -> dict[str, str]:
        """Return the first variant of a row that has each task of the metric."""
        known = {task: [name for name in row if name in self.tasks[task].predictions]
                 for task in tasks_of(metric, self.described) if task in self.tasks}  # fmt: skip
        return {task: names[0] for task, names in known.items() if names}

    @cached_property
    def _on_train(self) -> dict[tuple[str, int], float]:
        return self.runs.set_index(KEY)["train_overall_normalised"].dropna().astype(float).to_dict()


def of_results(results: Results) -> Evidence:
    """Return results in the form that the rule takes."""
    dev = results.predictions[(results.predictions["split"] == "dev") & results.predictions["label"].notna()]
    tasks = {str(task): _rows(table) for task, table in dev.groupby("task", observed=True)}
    first = results.trained.drop_duplicates("variant")
    settings = {str(run.variant): json.loads(run.settings) for run in first.itertuples()}
    return Evidence(_lines(results), tasks, results.untrained, settings, results.tasks)


def _rows(table: Frame) -> TaskRows:
    table = table.astype({"variant": str}).sort_values("row", kind="stable")
    rows = table.drop_duplicates("row").set_index("row")
    alone = np.arange(len(rows)) + rows["cluster"].max() + 1
    rows = rows.assign(
        cluster=rows["cluster"].where(rows["cluster"] >= 0, alone),
        leaked=rows["in_train"] | rows["shares"],
    )
    said = table.assign(prediction=table["prediction"].where(table["scored"]))
    return TaskRows(rows, said.pivot(index="row", columns=KEY, values="prediction"))


def _lines(results: Results) -> Frame:
    """Return a line a run; of a vote with its first member's settings, and the sum of what its members trained on."""
    by_run = results.trained.set_index(KEY, drop=False).to_dict("index")
    lines = []
    for (name, seed), run in by_run.items():
        members = [by_run[member, seed] for member in results.about[name].members if (member, seed) in by_run] or [run]
        settings, about = json.loads(members[0]["settings"]), results.about[members[0]["variant"]]
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
    """Return the columns of ALIKE in which these runs differ, and the techniques whose code does."""
    columns = [name for name in ALIKE if lines[name].nunique(dropna=False) > 1]
    digests: Frame = pd.DataFrame([*lines["techniques"]]).nunique()
    return (*columns, *digests.index[digests > 1])


def a_seed(lines: Frame, column: str) -> float:
    """Return the mean over seeds of the sum over a row's models; NaN, which is unequal to nothing, if one is untold."""
    return float(lines[column].astype(float).sum(skipna=False)) / lines["seed"].nunique()


def at_a_third(whole: Evidence, third: Evidence) -> Evidence:
    """Return the runs of `third` that had a third of the steps which their variant has in `whole`, and its code.

    Raises:
        DataError: there is no such run.
    """
    kept = [name for name in third.runs["variant"].unique() if _is_a_third(whole.lines([name]), third.lines([name]))]
    if not kept:
        raise DataError(
            "no run of --third had a third of the updates that its variant has in the report, and the same code and "
            "settings; allowed: evidence of the same variants at a third of their budget"
        )
    tasks = {
        name: replace(of, predictions=of.predictions[[one for one in of.predictions if one[0] in kept]])
        for name, of in third.tasks.items()
    }
    return replace(third, runs=third.lines(kept), tasks=tasks)


def _is_a_third(whole: Frame, third: Frame) -> bool:
    if not len(whole) or unlike(pd.concat([whole, third])):
        return False
    steps = a_seed(whole, "steps")
    return abs(3 * a_seed(third, "steps") - steps) <= UNEQUAL * steps
