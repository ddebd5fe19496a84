"""Rows of models: their scores with errors on dev or another split, what they cost, whether they are trained enough."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pandas as pd

from mtbert.config import papers
from mtbert.judge.budget_runs import BudgetRuns
from mtbert.scores.columns import COSTS, WEIGHTS, Frame
from mtbert.scores.described import BASELINES, BY_OTHERS, UNTRAINED, UNTRAINED_LABEL, baseline_label
from mtbert.scores.metrics import means
from mtbert.scores.results import Results
from mtbert.stats import Estimate
from mtbert.tasks import Split, Tasks


class MayGain(StrEnum):
    """Why a row may gain from longer training."""

    LOSS_FALLS = "loss falls"
    LAST_EPOCH = "last epoch"  # is the best one


@dataclass(frozen=True)
class Row:
    """A row of the report: one model, or several of different tasks, with their scores and what they cost.

    Attributes:
        label: what stands at its beginning.
        names: of the variants, of an ensemble, of a baseline, or of the untrained encoder.
        scores: by metric, the mean over `seeds` on `split`, with its error.
        seeds: those that all of them have; none of a baseline and of the untrained encoder.
        weights: by name, how many: `encoder` of one of them; added, trained and stored of all; times_bert: all over one
            encoder's.
        seconds: to train all of its models and their teachers, one seed; None if nobody knows.
        costs: by name, of running all of its models one after the other: `milliseconds` a text for all tasks,
            `batch_milliseconds` where 32 are predicted together, `megabytes` to load; none if nobody measured them.
        below: by task, the names of the baselines that it does not beat there, of `training_check.LOWEST`; none of what
            was not trained.
        may_gain: by task, why longer training may raise its score there.
        split: of all scores.
        paper, table: of a row of a paper's table, whose it is, and the table's number; else empty.
        published: the paper's scores by metric; none on other data than the papers'.
        note: what to know of the row.
    """

    label: str
    names: tuple[str, ...]
    scores: Mapping[str, Estimate]
    seeds: tuple[int, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict)
    below: Mapping[str, Sequence[str]] = field(default_factory=dict)
    may_gain: Mapping[str, Sequence[MayGain]] = field(default_factory=dict)
    split: Split = "dev"
    paper: str = ""
    table: str = ""
    published: papers.Scores = field(default_factory=dict)
    note: str = ""

    @property
    def is_trained_enough(self) -> bool:
        """Whether it is trained well enough to be compared."""
        return not self.below

    @property
    def is_baseline(self) -> bool:
        """Whether no seed changes it: the untrained encoder, one of BASELINES, or predictions of others."""
        return self.names[0] in (UNTRAINED, *BASELINES) or self.is_of_others

    @property
    def is_of_others(self) -> bool:
        """Whether others made its predictions: nobody knows its weights."""
        return self.names[0].startswith(BY_OTHERS)


def rank(row: Row, tasks: Tasks) -> float:
    """Return what rows are ordered by, the best first: less its mean over tasks; behind all others without one."""
    mean = row.scores.get(means(tasks)[0])
    return -mean.mean if mean else 1.0


class Scoreboard:
    """The scores of models, each computed once; a model's name stands for all of its seeds.

    Attributes:
        results: of the models that are scored.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self._budget_runs: dict[Split, BudgetRuns] = {}
        self._scores_by_key: dict[tuple[object, ...], Mapping[str, Estimate]] = {}

    def budget_runs(self, split: Split = "dev") -> BudgetRuns:
        """Return the runs in the form that the rule takes, made once for each split."""
        if split not in self._budget_runs:
            self._budget_runs[split] = BudgetRuns.from_results(self.results, split)
        return self._budget_runs[split]

    def row(self, names: Sequence[str], split: Split = "dev", averaged: Sequence[str] = ()) -> Row:
        """Return the row that these make, with their names, or that of a baseline in reports, as its label.

        Args:
            names: of variants of different tasks, or of one variant, ensemble or baseline.
            split: that the scores are of.
            averaged: the tasks that the mean is of, if it is of fewer than all.
        """
        if names[0] in self.results.baselines:
            return self._baseline(names[0], split)
        seeds = self.results.seeds
        shared_seeds = tuple(sorted(set.intersection(*(set(seeds[name]) for name in names))))
        trained = self.results.with_teachers(names)
        return Row(
            label=", ".join(names),
            names=tuple(names),
            scores=self._scores(tuple(names), shared_seeds, split, tuple(averaged)),
            seeds=shared_seeds,
            weights=self._weights(names),
            seconds=_none_for_nan(sum(self._mean_over_seeds(name, "seconds") for name in trained)),
            costs=_known({cost: sum(self._mean_over_seeds(name, cost) for name in names) for cost in COSTS}),
            split=split,
        )

    def _baseline(self, name: str, split: Split) -> Row:
        run = self.results.runs.set_index("variant").loc[name]
        return Row(
            label=baseline_label(name),
            names=(name,),
            scores=self._scores((name,), (int(run["seed"]),), split),
            weights={column: math.nan if pd.isna(run[column]) else float(run[column]) for column in WEIGHTS},
            seconds=_none_for_nan(run["seconds"]),
            costs=_known({cost: run[cost] for cost in COSTS}),
            split=split,
        )

    def baselines(self) -> list[Row]:
        """Return the rows of the baselines that have scores, the untrained encoder first."""
        rows = [self._untrained(), *(self.row([name]) for name in self.results.baselines)]
        return [row for row in rows if row.scores]

    def _untrained(self) -> Row:
        """Return the row of the starting weights; without scores where nobody has scored them.

        Evidence of before 2026-11-28 has their scores and not their predictions: there they have no interval.
        """
        stated = self.results.untrained
        predicted = self._scores((UNTRAINED,), (0,), "dev")
        scores = {metric: predicted.get(metric, _exactly(score)) for metric, score in stated.items()}
        return Row(UNTRAINED_LABEL, (UNTRAINED,), scores)

    def _scores(
        self, names: tuple[str, ...], seeds: tuple[int, ...], split: Split, averaged: tuple[str, ...] = ()
    ) -> Mapping[str, Estimate]:
        """Return the scores of models, by metric."""
        key = (names, seeds, split, averaged)
        if key not in self._scores_by_key:
            self._scores_by_key[key] = self.budget_runs(split).scores(names, seeds, averaged)
        return self._scores_by_key[key]

    def _mean_over_seeds(self, variant: str, column: str) -> float:
        """Return the mean of a column over the runs of a variant; NaN where results hold none."""
        if variant not in self.results.about:
            return math.nan
        return self.results.trained.loc[variant, column].astype(float).mean()

    def _weights(self, names: Sequence[str]) -> dict[str, float]:
        """Return the weights of a row; they are the same with every seed."""
        first_runs: Frame = self.results.trained.loc[[(name, self.results.seeds[name][0]) for name in names]]
        weights = first_runs[[*WEIGHTS, "times_bert"]].astype(float)
        return weights.sum().to_dict() | {"encoder": float(weights["encoder"].iloc[0])}


def _exactly(score: float) -> Estimate:
    """Return a score of which neither seeds nor rows are known."""
    return Estimate(score, None, 0.0, (0, 0), 0, 0)


def _known(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the values that are numbers."""
    return {name: float(value) for name, value in values.items() if not pd.isna(value)}


def _none_for_nan(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
