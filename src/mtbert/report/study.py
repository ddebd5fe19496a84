"""What the report says of the results: each variant's scores over seeds, and variants that make one row together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import pandas as pd

from mtbert import stats
from mtbert.config import papers
from mtbert.report import markdown
from mtbert.results.metrics import means, overall
from mtbert.results.tables import KEY, WEIGHTS, Frame, Results, metrics
from mtbert.tasks import main

RIVALS = "rivals"  # the paper of what is held against PALs beside the reports


def title(paper: str) -> str:
    """Return what tables call a paper."""
    known = papers.load()
    return known[paper].title if paper in known else "Variants of one's own"


@dataclass(frozen=True)
class Mean:
    """A mean over seeds; its 95 % interval is None below three."""

    mean: float
    interval: stats.Interval | None = None

    def __str__(self) -> str:
        """Return mean and interval as tables show them."""
        return markdown.estimate(self.mean, self.interval)


@dataclass(frozen=True)
class Group:
    """Variants that make one row: one, or several of different tasks.

    Attributes:
        names: of the variants, or of an ensemble.
        means: by metric, on one split, over the seeds that all of them have.
        seeds: these.
        weights: `encoder` of one of them; added, trained and stored of all; times_bert: all over one encoder's.
    """

    names: tuple[str, ...]
    means: dict[str, Mean]
    seeds: list[int]
    weights: dict[str, float]


class Study:
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
        models = runs["variant"].map(lambda name: self.about[name].encoders)
        times = models.astype(float) + runs["added"].astype(float) / runs["encoder"].astype(float)
        self.runs: Frame = runs.assign(times_bert=times).set_index(KEY, drop=False)
        self._told = self.runs.to_dict("index")

    @cached_property
    def seeds(self) -> dict[str, list[int]]:
        """The seeds of each variant and ensemble."""
        return {name: sorted(self.runs.loc[name].index.tolist()) for name in self.about}

    @property
    def is_comparable(self) -> bool:
        """Whether the data are those of the papers, so that their numbers and claims can be held against ours."""
        return self.results.data.kind == "course"

    @cached_property
    def by_paper(self) -> dict[str, list[str]]:
        """The variants and ensembles of each paper, all in the tables' order."""
        found: dict[str, list[str]] = {}
        for name, about in self.about.items():
            found.setdefault(about.paper, []).append(name)
        return found

    def answering(self, paper: str, row: str) -> list[str]:
        """Return the variants and ensembles that a published row, or one of PALs' rivals, asks for."""
        return [
            name
            for name, about in self.about.items()
            if (paper == RIVALS and about.rival == row) or (paper == about.paper and row in (about.row, *about.also))
        ]

    def group(self, names: Sequence[str], split: str = "dev", averaged: Sequence[str] = ()) -> Group:
        """Return the row that these make; `averaged` are those of its overall where it is of fewer."""
        shared = sorted(set.intersection(*(set(self.seeds[name]) for name in names)))
        scores = [self._of_seed(names, seed, split, averaged) for seed in shared]
        by_metric = {metric: [of[metric] for of in scores if metric in of] for metric in metrics(self.results.tasks)}
        first: Frame = pd.DataFrame([self._told[name, self.seeds[name][0]] for name in names])
        weights = first[[*WEIGHTS, "times_bert"]].astype(float).sum().to_dict()
        weights["encoder"] = float(first["encoder"][0])
        over_seeds = {metric: Mean(*stats.summary(values)) for metric, values in by_metric.items() if values}
        return Group(tuple(names), over_seeds, shared, weights)

    def scored(self, task: str) -> Frame:
        """Return the predictions of a task's dev rows that count, of all models."""
        every = self.results.predictions
        return every[(every["task"] == task) & (every["split"] == "dev") & every["scored"] & every["label"].notna()]

    def rank(self, group: Group) -> float:
        """Return what rows are ordered by, the best first: less its mean over tasks; behind all others without one."""
        first = group.means.get(means(self.results.tasks)[0])
        return -first.mean if first else 1.0

    def _of_seed(self, names: Sequence[str], seed: int, split: str, averaged: Sequence[str]) -> dict[str, float]:
        told = {task: self._told[name, seed][f"{split}_{task}"] for name in names for task in self.about[name].tasks}
        scores = {task: float(score) for task, score in told.items() if not pd.isna(score)}
        if not averaged or len(averaged) == len(main(self.results.tasks)):
            return scores | overall(scores, self.results.tasks)
        known = set(averaged) <= set(scores)
        return scores | ({"overall_raw": fmean(scores[task] for task in averaged)} if known else {})

    def joined(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return names of one row as groups of different tasks: three single-task models make one row."""
        groups: list[list[str]] = []
        for name in names:
            tasks = {*self.about[name].tasks}
            free = (group for group in groups if not any(tasks & {*self.about[other].tasks} for other in group))
            if (group := next(free, None)) is None:
                groups.append(group := [])
            group.append(name)
        return [tuple(group) for group in groups]

    @cached_property
    def rows(self) -> list[Group]:
        """Every variant and ensemble that is scored on dev, and single-task variants that make one row of all tasks."""
        by_row: dict[tuple[str, str], list[str]] = {}
        for name, about in self.about.items():
            by_row.setdefault((about.paper, about.row), []).append(name)
        together = [names for several in by_row.values() for names in self.joined(several) if len(names) > 1]
        whole = [
            names
            for names in together
            if {t for n in names for t in self.about[n].tasks} >= set(main(self.results.tasks))
        ]
        groups = [self.group(names) for names in (*((name,) for name in self.about), *whole)]
        return [group for group in groups if group.means]
