"""Rows of models with their scores on dev or another split, and what they cost."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mtbert.judge.budget_runs import BudgetRuns, of_results, on_split
from mtbert.judge.rows import Row
from mtbert.scores.columns import COSTS, WEIGHTS, Frame
from mtbert.scores.described import UNTRAINED, UNTRAINED_LABEL, baseline_label
from mtbert.scores.results import Results
from mtbert.stats import Estimate
from mtbert.tasks import Split


class Scoreboard:
    """The scores of models, each computed once; a model's name stands for all of its seeds.

    Attributes:
        results: of the models that are scored.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self._budget_runs: dict[Split, BudgetRuns] = {"dev": of_results(results)}
        self._scores_by_key: dict[tuple[object, ...], Mapping[str, Estimate]] = {}

    def budget_runs(self, split: Split = "dev") -> BudgetRuns:
        """Return the runs in the form that the rule takes, made once for each split."""
        if split not in self._budget_runs:
            self._budget_runs[split] = on_split(self._budget_runs["dev"], self.results, split)
        return self._budget_runs[split]

    def row(self, names: Sequence[str], split: Split = "dev", averaged: Sequence[str] = ()) -> Row:
        """Return the row that these make, with their names as its label.

        Args:
            names: of variants of different tasks, or of one variant or ensemble.
            split: that the scores are of.
            averaged: the tasks that the mean is of, if it is of fewer than all.
        """
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

    def baseline(self, name: str, split: Split = "dev") -> Row:
        """Return the row of a baseline."""
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
        rows = [self._untrained(), *map(self.baseline, self.results.baselines)]
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
