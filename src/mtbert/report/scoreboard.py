"""The scoreboard: rows of models with their scores, which all of the report asks for."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from mtbert import claims
from mtbert.claims import BudgetRuns
from mtbert.claims.sides import Settings
from mtbert.config import papers
from mtbert.scores.columns import KEY, WEIGHTS, Frame
from mtbert.scores.described import BASELINES, UNTRAINED
from mtbert.scores.metrics import means
from mtbert.scores.results import Results
from mtbert.stats import Difference
from mtbert.tasks import Split, main

RIVALS = "rivals"  # the paper of what is held against PALs beside the papers
UNTRAINED_LABEL = "Untrained encoder"


def title(paper: str) -> str:
    """Return what tables call a paper."""
    every = papers.load()
    return every[paper].title if paper in every else "Variants of one's own"


@dataclass(frozen=True)
class Row:
    """A row of the report: one model, or several of different tasks, with their scores and what they cost.

    Attributes:
        label: what stands at its beginning.
        names: of the variants, of an ensemble, or of what was not trained: a baseline, the untrained encoder.
        scores: by metric, the mean over `seeds` on `split`, with its error.
        seeds: those that all of them have; none of what was not trained.
        weights: by name, how many: `encoder` of one of them; added, trained and stored of all; times_bert: all over one
            encoder's.
        seconds: to train all of its models, one seed; None if nobody knows.
        milliseconds: of a prediction; None if it was not measured.
        split: of all scores.
        published: the paper's scores by metric; none on other data than the papers'.
        note: what to know of the row.
    """

    label: str
    names: tuple[str, ...]
    scores: Mapping[str, Difference]
    seeds: Sequence[int] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    milliseconds: float | None = None
    split: Split = "dev"
    published: papers.Scores = field(default_factory=dict)
    note: str = ""

    @property
    def is_baseline(self) -> bool:
        """Whether it is one of BASELINES, which have no seeds and no training loss."""
        return self.names[0] in BASELINES


class Scoreboard:
    """Results with what several parts of the report ask of them.

    Attributes:
        results: as they were read.
        profile: of all runs.
        about: by variant or ensemble, what its settings say of it.
        untrained: dev scores of the starting weights by task, where they are known.
        runs: without the untrained encoder, by variant and seed, with all weights over one encoder's as `times_bert`.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.about, self.untrained = results.about, results.untrained
        self.profile = next(iter(self.about.values())).profile
        runs = results.trained
        encoders = runs["variant"].map(lambda name: self.about[name].encoders).astype(float)
        times = encoders + runs["added"].astype(float) / runs["encoder"].astype(float)
        self.runs: Frame = runs.assign(times_bert=times).set_index(KEY, drop=False)
        self._cells = self.runs.to_dict("index")  # by variant and seed, then by column
        self._budget_runs: dict[Split, BudgetRuns] = {}
        self._known_scores: dict[tuple[object, ...], Mapping[str, Difference]] = {}

    @cached_property
    def seeds(self) -> dict[str, list[int]]:
        """The seeds of each variant and ensemble."""
        return {name: sorted(self.runs.loc[name].index.tolist()) for name in self.about}

    @cached_property
    def settings(self) -> dict[str, Settings]:
        """What the first run of each variant and ensemble was resolved to."""
        return {name: json.loads(self._cells[name, self.seeds[name][0]]["settings"]) for name in self.about}

    @cached_property
    def baselines(self) -> list[str]:
        """The names of the baselines that train all tasks at once, without seeds."""
        return [str(name) for name in self.results.baselines.index]

    def baseline(self, name: str, split: Split = "dev") -> Row:
        """Return the row of a baseline."""
        run = self.results.baselines.loc[name]
        return Row(
            label=BASELINES.get(name, name),
            names=(name,),
            scores=self._scores((name,), (int(run["seed"]),), split),
            weights={column: math.nan if pd.isna(run[column]) else float(run[column]) for column in WEIGHTS},
            seconds=_none_for_nan(run["seconds"]),
            milliseconds=_none_for_nan(run["milliseconds"]),
            split=split,
        )

    @cached_property
    def untrained_row(self) -> Row | None:
        """The row of the starting weights; None where nobody has scored them.

        Evidence of before 2026-11-28 has their scores and not their predictions: there they have no interval.
        """
        if not self.untrained:
            return None
        predicted = self._scores((UNTRAINED,), (0,), "dev")
        scores = {metric: predicted.get(metric, _exactly(score)) for metric, score in self.untrained.items()}
        return Row(UNTRAINED_LABEL, (UNTRAINED,), scores)

    @property
    def is_comparable(self) -> bool:
        """Whether the data are those of the papers, so that their numbers and claims can be held against ours."""
        return self.results.data.kind == "course"

    @cached_property
    def by_paper(self) -> dict[str, list[str]]:
        """The variants and ensembles of each paper, all in the tables' order."""
        by_paper: dict[str, list[str]] = {}
        for name, about in self.about.items():
            by_paper.setdefault(about.paper, []).append(name)
        return by_paper

    def answering(self, paper: str, row: str) -> list[str]:
        """Return the variants and ensembles that a published row, or one of PALs' rivals, asks for."""
        names: list[str] = []
        for name, about in self.about.items():
            is_rival = paper == RIVALS and about.rival == row
            is_row = paper == about.paper and row in (about.row, *about.also)
            if is_rival or is_row:
                names.append(name)
        return names

    def trained_for(self, names: Sequence[str]) -> list[str]:
        """Return the variants that are trained for these: an ensemble's members, any other itself."""
        trained: list[str] = []
        for name in names:
            trained += self.about[name].members or [name]
        return trained

    def row(self, names: Sequence[str], split: Split = "dev", averaged: Sequence[str] = ()) -> Row:
        """Return the row that these make, with their names as its label.

        Args:
            names: of variants of different tasks, or of one variant or ensemble.
            split: that the scores are of.
            averaged: the tasks that the mean is of, if it is of fewer than all.
        """
        shared_seeds = sorted(set.intersection(*(set(self.seeds[name]) for name in names)))
        trained = self.trained_for(names)
        milliseconds = [self._mean_over_seeds(name, "milliseconds") for name in names]
        return Row(
            label=", ".join(names),
            names=tuple(names),
            scores=self._scores(tuple(names), tuple(shared_seeds), split, tuple(averaged)),
            seeds=shared_seeds,
            weights=self._weights(names),
            seconds=_none_for_nan(sum(self._mean_over_seeds(name, "seconds") for name in trained)),
            milliseconds=_none_for_nan(sum(milliseconds) / len(milliseconds)),
            split=split,
        )

    def budget_runs(self, split: Split = "dev") -> BudgetRuns:
        """Return the runs in the form that the rule takes, made once for each split."""
        if split not in self._budget_runs:
            self._budget_runs[split] = claims.of_results(self.results, split)
        return self._budget_runs[split]

    def _scores(
        self, names: tuple[str, ...], seeds: tuple[int, ...], split: Split, averaged: tuple[str, ...] = ()
    ) -> Mapping[str, Difference]:
        """Return the scores of models, by metric; computed once, since several parts of the report ask for them."""
        key = (names, seeds, split, averaged)
        if key not in self._known_scores:
            self._known_scores[key] = self.budget_runs(split).scores(names, seeds, averaged)
        return self._known_scores[key]

    def _mean_over_seeds(self, variant: str, column: str) -> float:
        return self.runs.loc[self.runs["variant"] == variant, column].astype(float).mean()

    def _weights(self, names: Sequence[str]) -> dict[str, float]:
        """Return the weights of a row; they are the same with every seed."""
        first_runs: Frame = pd.DataFrame([self._cells[name, self.seeds[name][0]] for name in names])
        weights = first_runs[[*WEIGHTS, "times_bert"]].astype(float).sum().to_dict()
        return weights | {"encoder": float(first_runs["encoder"][0])}

    def scored(self, task: str) -> Frame:
        """Return the predictions of a task's dev rows that count, of all models."""
        predicted = self.results.predictions
        is_of_dev = (predicted["task"] == task) & (predicted["split"] == "dev")
        return predicted[is_of_dev & predicted["scored"] & predicted["label"].notna()]

    def rank(self, row: Row) -> float:
        """Return what rows are ordered by, the best first: less its mean over tasks; behind all others without one."""
        mean = row.scores.get(means(self.results.tasks)[0])
        return -mean.mean if mean else 1.0

    def joined(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return names of one row as groups of different tasks: three single-task models make one row."""
        groups: list[list[str]] = []
        for name in names:
            fitting = (group for group in groups if not self._share_a_task(name, group))
            group = next(fitting, None)
            if group is None:
                groups.append([name])
            else:
                group.append(name)
        return [tuple(group) for group in groups]

    def _share_a_task(self, name: str, others: Sequence[str]) -> bool:
        return any({*self.about[name].tasks} & {*self.about[other].tasks} for other in others)

    @cached_property
    def rows(self) -> list[Row]:
        """Every variant and ensemble that is scored on dev, and single-task variants that make one row of all tasks."""
        by_row: dict[tuple[str, str], list[str]] = {}
        for name, about in self.about.items():
            by_row.setdefault((about.paper, about.row), []).append(name)
        models: list[tuple[str, ...]] = [(name,) for name in self.about]
        for row_names in by_row.values():
            models += [names for names in self.joined(row_names) if len(names) > 1 and self._have_all_tasks(names)]
        rows = [self.row(names) for names in models]
        return [row for row in rows if row.scores]

    def _have_all_tasks(self, names: Sequence[str]) -> bool:
        tasks = {task for name in names for task in self.about[name].tasks}
        return {*main(self.results.tasks)} <= tasks


def _exactly(score: float) -> Difference:
    """Return a score of which neither seeds nor rows are known."""
    return Difference(score, None, 0.0, (0, 0), 0, 0)


def _none_for_nan(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
