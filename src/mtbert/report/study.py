"""What the report says of the results: each variant's scores over seeds, and variants that make one row together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np
import pandas as pd

from mtbert import metrics, stats
from mtbert.metrics import MAIN_TASKS
from mtbert.report.published import RIVALS
from mtbert.results import tables
from mtbert.results.tables import METRICS, UNTRAINED, WEIGHTS, About, Frame, Results
from mtbert.tasks import TASKS

THREADS = "run.threads="  # changes last digits alone, and no row
Scores = dict[int, dict[str, float]]  # by seed, then metric


@dataclass(frozen=True)
class Mean:
    """A mean over seeds; std (sample) is None for one seed, the 95 % interval below three."""

    mean: float
    std: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Group:
    """Variants that make one row: one, or several of different tasks.

    Attributes:
        names: of the variants, or of an ensemble.
        scores: on one split, of the seeds that all of them have.
        weights: `encoder` of one of them; added, trained and stored of all; times_bert: all over one encoder's.
        overrides: their settings that differ from the shipped ones.
    """

    names: tuple[str, ...]
    scores: Scores
    weights: dict[str, float]
    overrides: tuple[str, ...]

    @property
    def seeds(self) -> list[int]:
        """Those that its numbers are means of."""
        return sorted(self.scores)

    def over_seeds(self, metric: str) -> Mean | None:
        """Return mean and interval of a metric; None where a seed has none."""
        values = [scores[metric] for scores in self.scores.values() if metric in scores]
        if not values:
            return None
        mean, std, interval = stats.summary(values)
        return Mean(mean, std, *(interval or (None, None)))


class Study:
    """Results with what several parts of the report ask of them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.about = {name: about for name, about in results.about.items() if name != UNTRAINED}
        runs = results.runs[results.runs["kind"] != "encoder"]
        self.runs = runs.assign(times_bert=_times_bert(runs, self.about))
        self._told = {(run["variant"], run["seed"]): run for run in self.runs.to_dict("records")}
        self._parts = tables.parts(results)

    @cached_property
    def variants(self) -> list[str]:
        """Names of the variants, without ensembles, in the order of the tables."""
        return [name for name, about in self.about.items() if not about.members]

    @cached_property
    def profile(self) -> str:
        """The profile of all runs."""
        return next(iter(self.about.values())).profile

    @cached_property
    def seeds(self) -> dict[str, list[int]]:
        """The seeds of each variant and ensemble."""
        return {str(name): sorted(seeds.tolist()) for name, seeds in self.runs.groupby("variant", sort=False)["seed"]}

    @cached_property
    def untrained(self) -> dict[str, float]:
        """Dev scores of the starting weights without any training, by task; empty where nobody computed them."""
        rows = self.results.runs[self.results.runs["variant"] == UNTRAINED]
        told = {task: float(rows[f"dev_{task}"].iloc[0]) for task in TASKS if len(rows)}
        return {task: score for task, score in told.items() if not np.isnan(score)}

    def answering(self, paper: str, row: str) -> list[str]:
        """Return the variants and ensembles that a published row, or one of PALs' rivals, asks for."""
        return [name for name, about in self.about.items() if answers(about, paper, row)]

    def group(self, names: Sequence[str], split: str = "dev", averaged: Sequence[str] = MAIN_TASKS) -> Group:
        """Return the row that these make; `averaged` are the tasks that its overall is the mean of."""
        shared = set.intersection(*(set(self.seeds[name]) for name in names))
        scores = {seed: self._of_seed(names, seed, split, averaged) for seed in sorted(shared)}
        first = [self._told[name, self.seeds[name][0]] for name in names]
        weights = {kind: float(sum(run[kind] for run in first)) for kind in (*WEIGHTS, "times_bert")}
        changed = dict.fromkeys(one for run in first for one in (run["overrides"] or "").split("; ") if one)
        kept = tuple(one for one in changed if not one.startswith(THREADS))
        return Group(tuple(names), scores, weights | {"encoder": float(first[0]["encoder"])}, kept)

    def _of_seed(self, names: Sequence[str], seed: int, split: str, averaged: Sequence[str]) -> dict[str, float]:
        told = {metric: value for name in names for metric in METRICS
                if not np.isnan(value := self._told[name, seed][f"{split}_{metric}"])}  # fmt: skip
        if len(names) == 1 and set(averaged) == set(MAIN_TASKS):
            return told
        parts = {task: score for name in names for task, score in self._parts.get((name, seed, split), {}).items()}
        overall = metrics.overall(parts)
        if len(averaged) < len(MAIN_TASKS) and set(averaged) <= set(parts):
            overall = {"overall_raw": fmean(parts[task] for task in averaged)}
        return {metric: score for metric, score in told.items() if metric in TASKS} | overall

    def joined(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return names of one row as groups of different tasks: three single-task models make one row."""
        groups: list[list[str]] = []
        for name in names:
            tasks = set(self.about[name].tasks)
            fitting = (g for g in groups if not any(tasks & set(self.about[other].tasks) for other in g))
            group = next(fitting, None)
            if group is None:
                groups.append([name])
            else:
                group.append(name)
        return [tuple(group) for group in groups]

    @cached_property
    def rows(self) -> list[Group]:
        """Every variant and ensemble that is scored on dev, and single-task variants that make one row of all tasks."""
        groups = [self.group([name]) for name in self.about]
        by_row: dict[tuple[str, str], list[str]] = {}
        for name, about in self.about.items():
            by_row.setdefault((about.paper, about.row), []).append(name)
        for names in (names for several in by_row.values() for names in self.joined(several) if len(names) > 1):
            if {task for name in names for task in self.about[name].tasks} >= set(MAIN_TASKS):
                groups.append(self.group(names))
        return [group for group in groups if any(group.scores.values())]

    def leaders(self) -> Iterator[tuple[Group, Mean]]:
        """Yield the rows of all three tasks with as many seeds as most have, from the highest overall on dev."""
        whole = [(row, overall) for row in self.rows if (overall := row.over_seeds("overall_raw"))]
        most = min(3, max((len(row.seeds) for row, _ in whole), default=0))  # one run may lead by luck
        yield from sorted((one for one in whole if len(one[0].seeds) >= most), key=lambda one: -one[1].mean)


def answers(about: About, paper: str, row: str) -> bool:
    """Return whether a variant or ensemble answers to that row of a paper, or to that row among PALs' rivals."""
    if paper == RIVALS and about.rival == row:
        return True
    return paper == about.paper and row in (about.row, *about.also)


def _times_bert(runs: Frame, about: dict[str, About]) -> pd.Series:
    """All weights over one encoder's; each model, and each member of a vote, has an encoder of its own."""
    models = runs["variant"].map(lambda name: len(about[name].members) or 1).astype(float)
    return models + runs["added"].astype(float) / runs["encoder"].astype(float)
