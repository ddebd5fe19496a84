"""The scoreboard: scores over seeds, and variants that make one row together, which all of the report asks for."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import pandas as pd

from mtbert import stats
from mtbert.claims.sides import Settings
from mtbert.config import papers
from mtbert.report import markdown
from mtbert.results.columns import KEY, WEIGHTS, Frame, metric_names
from mtbert.results.metrics import means, overall
from mtbert.results.results import Results
from mtbert.tasks import main

RIVALS = "rivals"  # the paper of what is held against PALs beside the papers


def title(paper: str) -> str:
    """Return what tables call a paper."""
    every = papers.load()
    return every[paper].title if paper in every else "Variants of one's own"


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
        means: by metric, on one split, over `seeds`.
        seeds: those that all of them have.
        weights: `encoder` of one of them; added, trained and stored of all; times_bert: all over one encoder's.
    """

    names: tuple[str, ...]
    means: dict[str, Mean]
    seeds: list[int]
    weights: dict[str, float]


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

    def baseline(self, name: str, split: str = "dev") -> Group:
        """Return the row of a baseline; its scores have no interval."""
        run = self.results.baselines.loc[name]
        means: dict[str, Mean] = {}
        for metric in metric_names(self.results.tasks):
            if not pd.isna(run[f"{split}_{metric}"]):
                means[metric] = Mean(float(run[f"{split}_{metric}"]))
        return Group((name,), means, [int(run["seed"])], run[[*WEIGHTS]].astype(float).to_dict())

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

    def group(self, names: Sequence[str], split: str = "dev", averaged: Sequence[str] = ()) -> Group:
        """Return the row that these make.

        Args:
            names: of variants of different tasks, or of one variant or ensemble.
            split: that the scores are of.
            averaged: the tasks that the mean is of, if it is of fewer than all.
        """
        shared_seeds = sorted(set.intersection(*(set(self.seeds[name]) for name in names)))
        scores = [self._scores(names, seed, split, averaged) for seed in shared_seeds]
        means: dict[str, Mean] = {}
        for metric in metric_names(self.results.tasks):
            values = [seed_scores[metric] for seed_scores in scores if metric in seed_scores]
            if values:
                means[metric] = Mean(*stats.summary(values))
        return Group(tuple(names), means, shared_seeds, self._weights(names))

    def _scores(self, names: Sequence[str], seed: int, split: str, averaged: Sequence[str]) -> dict[str, float]:
        """Return what a row scores with one seed: on the tasks of its variants, and the means over tasks."""
        scores: dict[str, float] = {}
        for name in names:
            for task in self.about[name].tasks:
                score = self._cells[name, seed][f"{split}_{task}"]
                if not pd.isna(score):
                    scores[task] = float(score)
        if not averaged or len(averaged) == len(main(self.results.tasks)):
            return scores | overall(scores, self.results.tasks)
        if not {*averaged} <= {*scores}:
            return scores
        return scores | {"overall_raw": fmean(scores[task] for task in averaged)}

    def _weights(self, names: Sequence[str]) -> dict[str, float]:
        """Return the weights of a row, as `Group` has them; they are the same with every seed."""
        first_runs: Frame = pd.DataFrame([self._cells[name, self.seeds[name][0]] for name in names])
        weights = first_runs[[*WEIGHTS, "times_bert"]].astype(float).sum().to_dict()
        return weights | {"encoder": float(first_runs["encoder"][0])}

    def scored(self, task: str) -> Frame:
        """Return the predictions of a task's dev rows that count, of all models."""
        predicted = self.results.predictions
        is_of_dev = (predicted["task"] == task) & (predicted["split"] == "dev")
        return predicted[is_of_dev & predicted["scored"] & predicted["label"].notna()]

    def rank(self, group: Group) -> float:
        """Return what rows are ordered by, the best first: less its mean over tasks; behind all others without one."""
        mean = group.means.get(means(self.results.tasks)[0])
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
    def rows(self) -> list[Group]:
        """Every variant and ensemble that is scored on dev, and single-task variants that make one row of all tasks."""
        by_row: dict[tuple[str, str], list[str]] = {}
        for name, about in self.about.items():
            by_row.setdefault((about.paper, about.row), []).append(name)
        models: list[tuple[str, ...]] = [(name,) for name in self.about]
        for row_names in by_row.values():
            models += [names for names in self.joined(row_names) if len(names) > 1 and self._have_all_tasks(names)]
        groups = [self.group(names) for names in models]
        return [group for group in groups if group.means]

    def _have_all_tasks(self, names: Sequence[str]) -> bool:
        tasks = {task for name in names for task in self.about[name].tasks}
        return {*main(self.results.tasks)} <= tasks
