"""The scores of runs on dev, and on resampled rows of dev, so that any two rows of a table can be compared."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from mtbert import seeding
from mtbert.claims.comparability import UNEQUAL, Line, a_seed, unlike
from mtbert.claims.reading import OVERALLS, OVERFITTING
from mtbert.errors import DataError
from mtbert.metrics import MAIN_TASKS
from mtbert.results.tables import UNTRAINED
from mtbert.stats import Difference, difference, resampling
from mtbert.stats.resampling import Scored
from mtbert.tasks import TASKS

SEED = 0  # of the resamples, so that the same runs give the same report
Run = tuple[str, int]  # variant or ensemble, and seed


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
        runs: one a run.
        tasks: by name.
        untrained: by task, the score of the untrained encoder by cosine, where it is known.
        faulty: the values of the column `code` in which a fault is known.
    """

    runs: Sequence[Line]
    tasks: Mapping[str, TaskRows]
    untrained: Mapping[str, float] = field(default_factory=dict)
    faulty: Collection[str] = ()
    _drawn: dict[tuple[str, bytes], resampling.Resamples] = field(default_factory=dict, repr=False, compare=False)

    def seeds(self, row: Sequence[str], metric: str) -> list[int]:
        """Return the seeds of which all models of a row have scores, in order; none where it lacks a task."""
        models = self._models(row, metric)
        sets = [self._seeds_of(task, name) for task, name in models.items()]
        if metric == OVERFITTING:
            sets += [{seed for of, seed in self._on_train if of == name} for name in row]
        return sorted(set.intersection(*sets)) if len(models) == len(tasks_of(metric)) else []

    def lines(self, row: Collection[str], seeds: Collection[int] | None = None) -> list[Line]:
        """Return the lines of `runs` of these models, of all seeds or of some."""
        return [line for line in self.runs if line["variant"] in row and (seeds is None or line["seed"] in seeds)]

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
        found = [self._scored(task, sides, seeds, metric, leak_free) for task in tasks_of(metric)]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        our_scores, our_draws = self._joined(metric, ours, seeds[0], [task[0] for task in known])
        other_scores, other_draws = self._joined(metric, sides[1], seeds[1], [task[1] for task in known])
        if untrained is not None:
            other_scores, other_draws = (np.full_like(one, untrained) for one in (other_scores, other_draws))
        rows, clusters = sum(rows for *_, rows, _ in known), min(clusters for *_, clusters in known)
        return difference(our_scores, other_scores, our_draws, other_draws, rows, clusters)

    def _joined(self, metric: str, row: Sequence[str], seeds: Sequence[int], parts: Sequence[Scored]) -> Scored:
        """Return a side's mean over tasks; r counts as (r + 1) / 2 in a normalised overall."""
        scores, draws = (np.mean([part[at] for part in parts], axis=0) for at in (0, 1))
        if metric in ("overall_normalised", OVERFITTING):
            r, drawn_r = parts[MAIN_TASKS.index("sts")]
            scores, draws = scores + (1 - r) / 2 / len(parts), draws + (1 - drawn_r) / 2 / len(parts)
        if metric == OVERFITTING:
            trained = np.array([self._on_train[row[0], seed] for seed in seeds])
            return trained - scores, trained - draws
        return scores, draws

    def _scored(
        self, task: str, sides: Sequence[Sequence[str]], seeds: Sequence[Sequence[int]], metric: str, leak_free: bool
    ) -> tuple[Scored, Scored, int, int] | None:
        """Score two rows on the rows of dev that all of their runs have; these rows' number, and their clusters'."""
        of = self.tasks[task]
        names = [self._models(row, metric)[task] for row in sides]
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
        labels, drawn = of.labels[kept], self._resamples(task, kept)
        ours, other = (resampling.scored(TASKS[task].metric, labels, column[kept], drawn) for column in columns)
        return ours, other, int(kept.sum()), len(np.unique(of.clusters[kept]))

    def _resamples(self, task: str, kept: np.ndarray) -> resampling.Resamples:
        """Return the resamples of these rows, the same for all comparisons."""
        key = task, kept.tobytes()
        if key not in self._drawn:
            generator = seeding.stream(SEED, "bootstrap", task)
            self._drawn[key] = resampling.resamples(self.tasks[task].clusters[kept], generator)
        return self._drawn[key]

    def _models(self, row: Sequence[str], metric: str) -> dict[str, str]:
        """Return the first variant of a row that has each task of the metric."""
        named = {task: [name for name in row if self._seeds_of(task, name)] for task in tasks_of(metric)}
        return {task: names[0] for task, names in named.items() if names}

    def _seeds_of(self, task: str, variant: str) -> set[int]:
        rows = self.tasks.get(task)
        return set() if rows is None else {seed for name, seed in rows.predictions if name == variant}

    @cached_property
    def _on_train(self) -> dict[Run, float]:
        scores = {(line["variant"], line["seed"]): line["train_overall_normalised"] for line in self.runs}
        return {run: float(score) for run, score in scores.items() if score is not None}


def at_a_third(whole: Evidence, third: Evidence) -> Evidence:
    """Return the runs of `third` that had a third of the updates which their variant has in `whole`, and its code.

    Raises:
        DataError: there is no such run.
    """
    names = {line["variant"] for line in third.runs}
    kept = {name for name in names if _is_a_third(whole.lines([name]), third.lines([name]))}
    if not kept:
        raise DataError(
            "no run of --third had a third of the updates that its variant has in the report, and the same code and "
            "settings; allowed: evidence of the same variants at a third of their budget"
        )
    tasks = {
        name: replace(rows, predictions={run: said for run, said in rows.predictions.items() if run[0] in kept})
        for name, rows in third.tasks.items()
    }
    return replace(third, runs=third.lines(kept), tasks=tasks)


def _is_a_third(whole: list[Line], third: list[Line]) -> bool:
    if not whole or unlike([*whole, *third]):
        return False
    updates = a_seed(whole, "updates")
    return abs(3 * a_seed(third, "updates") - updates) <= UNEQUAL * updates
