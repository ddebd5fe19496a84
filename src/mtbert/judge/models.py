"""What results say of their models beside scores: papers, tasks, seeds, settings, members, weights."""

import json
from collections.abc import Sequence
from functools import cached_property

from mtbert.judge.sides import Settings
from mtbert.scores.columns import KEY, Frame
from mtbert.scores.results import Results
from mtbert.tasks import main

RIVALS = "rivals"  # the paper of what is held against PALs beside the papers


class Models:
    """The variants and ensembles of results.

    Attributes:
        results: as they were read.
        about: by variant or ensemble, what its settings say of it.
        profile: of all runs.
        runs: a line for each run and vote, by variant and seed, with all weights over one encoder's as `times_bert`.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.about = results.about
        self.profile = next(iter(self.about.values())).profile
        runs = results.trained
        encoders = runs["variant"].map(lambda name: self.about[name].encoders).astype(float)
        times = encoders + runs["added"].astype(float) / runs["encoder"].astype(float)
        self.runs: Frame = runs.assign(times_bert=times).set_index(KEY, drop=False)

    @cached_property
    def seeds(self) -> dict[str, list[int]]:
        """The seeds of each variant and ensemble."""
        return {name: sorted(self.runs.loc[name].index.tolist()) for name in self.about}

    @cached_property
    def settings(self) -> dict[str, Settings]:
        """What the first run of each variant and ensemble was resolved to."""
        return {name: json.loads(self.runs.loc[(name, self.seeds[name][0]), "settings"]) for name in self.about}

    @cached_property
    def baselines(self) -> list[str]:
        """The names of the baselines that train all tasks at once, without seeds."""
        return [str(name) for name in self.results.baselines.index]

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

    def with_teachers(self, names: Sequence[str]) -> list[str]:
        """Return the variants that are trained for these, and those that these learn from, each once."""
        trained = self.trained_for(names)
        teachers = [teacher for name in trained if name in self.about for teacher in self.about[name].teachers]
        return [*dict.fromkeys([*trained, *teachers])]

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
    def groups(self) -> list[tuple[str, ...]]:
        """Every variant and ensemble by itself, and the single-task variants that make one row of all tasks."""
        by_row: dict[tuple[str, str], list[str]] = {}
        for name, about in self.about.items():
            by_row.setdefault((about.paper, about.row), []).append(name)
        groups: list[tuple[str, ...]] = [(name,) for name in self.about]
        for row_names in by_row.values():
            groups += [names for names in self.joined(row_names) if len(names) > 1 and self._have_all_tasks(names)]
        return groups

    def _have_all_tasks(self, names: Sequence[str]) -> bool:
        tasks = {task for name in names for task in self.about[name].tasks}
        return {*main(self.results.tasks)} <= tasks
