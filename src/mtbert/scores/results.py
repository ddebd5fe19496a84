"""The tables of results, and what they say.

`runs` has a row for each training and vote, `predictions` one for each row that a run predicted, `history` one for each
value that a training logged, `points` one for each dev row that has a place in a picture, of one seed of a variant.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import ValidationError

from mtbert import files
from mtbert.errors import DataError, in_words
from mtbert.scores.columns import FOLD, KEY, Frame, metric_names, schema
from mtbert.scores.described import DESCRIPTIONS, RIVALS, About, Costs, Data, RunDescription, StartingWeights
from mtbert.tasks import Tasks, main, repeat_of, whole_repeats

BASELINE_KINDS = ("baseline", "encoder")  # that no seed changes; the untrained encoder is one, too


def _no_points() -> Frame:
    """Return a table `points` without rows."""
    import pandas as pd

    return pd.DataFrame(columns=schema("points", {}).names)


@dataclass
class Results:
    """The tables; `runs` is small, `predictions` may have millions of rows."""

    runs: Frame
    predictions: Frame
    history: Frame
    points: Frame = field(default_factory=_no_points)

    @cached_property
    def descriptions(self) -> list[RunDescription]:
        """What each row of `runs` says; DataError, with the number of a row from 0, for a value of another kind."""
        try:
            return DESCRIPTIONS.validate_python(self.runs.to_dict("records"))
        except ValidationError as error:
            raise DataError(f"runs: {in_words(error)[:300]}") from None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of `runs`, which has the score of every set of predictions."""
        return files.sha256_of(self.runs.to_csv(index=False).encode())

    @cached_property
    def about(self) -> dict[str, About]:
        """What the settings say of each variant or ensemble, by name, in the tables' order."""
        return {run.variant: run.settings for run in self.descriptions if run.kind not in BASELINE_KINDS}

    @cached_property
    def trained(self) -> Frame:
        """The rows of `runs` with a seed, by variant and seed; `times_bert` is all weights over one encoder's."""
        trained = self.runs[~self.runs["kind"].isin(BASELINE_KINDS)]
        encoders = trained["variant"].map(lambda name: self.about[name].encoders).astype(float)
        times = encoders + trained["added"].astype(float) / trained["encoder"].astype(float)
        return trained.assign(times_bert=times).set_index(KEY, drop=False)

    @cached_property
    def seeds(self) -> dict[str, list[int]]:
        """The seeds of each variant and ensemble."""
        return {name: sorted(self.trained.loc[name].index.tolist()) for name in self.about}

    @cached_property
    def settings(self) -> dict[str, Mapping[str, Any]]:
        """What the first run of each variant and ensemble was resolved to."""
        return {name: json.loads(self.trained.loc[(name, self.seeds[name][0]), "settings"]) for name in self.about}

    @property
    def profile(self) -> str:
        """The profile of all runs."""
        return next(iter(self.about.values())).profile

    @cached_property
    def baselines(self) -> list[str]:
        """The names of the baselines, which train all tasks at once, without seeds; none in older evidence."""
        return self.runs["variant"][self.runs["kind"] == "baseline"].astype(str).tolist()

    @cached_property
    def costs(self) -> dict[str, Costs]:
        """What is said that predictions of others cost, by variant."""
        return {run.variant: run.settings.costs for run in self.descriptions if run.kind == "baseline"}

    @cached_property
    def untrained(self) -> dict[str, float]:
        """Dev scores of the starting weights without any training, by task; empty if nobody computed them."""
        rows = self.runs[self.runs["kind"] == "encoder"]
        scores: dict[str, float] = {}
        for metric in metric_names(self.tasks):
            for score in rows[f"dev_{metric}"].dropna():
                scores[metric] = float(score)
        return scores

    def scored(self, task: str) -> Frame:
        """Return the predictions of a task's dev rows that count, of all models; of folds, those of whole repeats."""
        predicted = self.predictions
        is_of_dev = (predicted["task"] == task) & (predicted["split"] == "dev")
        rows = predicted[is_of_dev & predicted["scored"] & predicted["label"].notna()]
        folds = self.tasks[task].folds
        return _in_repeats(rows, folds) if folds else rows

    @property
    def tasks(self) -> Tasks:
        """The tasks of the data, by name in their order."""
        return self.data.described_tasks

    @cached_property
    def data(self) -> Data:
        """The data that all runs were trained on."""
        return self.descriptions[0].data

    @cached_property
    def starting_weights(self) -> StartingWeights:
        """The encoder that all runs start from."""
        return self.descriptions[0].start

    @cached_property
    def by_run(self) -> dict[tuple[str, int, str], dict[str, Frame]]:
        """Predictions by variant, seed and split, then by task; the rows in the order of the data."""
        by_run: dict[tuple[str, int, str], dict[str, Frame]] = {}
        groups = self.predictions.groupby([*KEY, "split", "task"], observed=True, sort=False)
        for (variant, seed, split, task), table in groups:
            by_run.setdefault((variant, int(seed), split), {})[task] = table.sort_values("row")
        return by_run

    @property
    def is_comparable(self) -> bool:
        """Whether the data are those of the papers, so that their numbers and claims can be held against ours."""
        return self.data.kind == "course"

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

    def into_rows(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return names as rows of different tasks: three single-task models make one row."""
        rows: list[list[str]] = []
        for name in names:
            row = next((row for row in rows if not self._share_a_task(name, row)), None)
            if row is None:
                rows.append([name])
            else:
                row.append(name)
        return [tuple(row) for row in rows]

    def _share_a_task(self, name: str, others: Sequence[str]) -> bool:
        return any({*self.about[name].tasks} & {*self.about[other].tasks} for other in others)

    @cached_property
    def rows(self) -> list[tuple[str, ...]]:
        """Every variant and ensemble by itself, and the single-task variants that make one row of all tasks."""
        by_row: dict[tuple[str, str], list[str]] = {}
        for name, about in self.about.items():
            by_row.setdefault((about.paper, about.row), []).append(name)
        rows: list[tuple[str, ...]] = [(name,) for name in self.about]
        for names_of_row in by_row.values():
            rows += [names for names in self.into_rows(names_of_row) if len(names) > 1 and self._have_all_tasks(names)]
        return rows

    def _have_all_tasks(self, names: Sequence[str]) -> bool:
        tasks = {task for name in names for task in self.about[name].tasks}
        return {*main(self.tasks)} <= tasks


def _in_repeats(rows: Frame, folds: int) -> Frame:
    """Return the predictions of one task's dev with a repeat's first seed in place of each of its seeds.

    Predictions of a repeat that lacks a seed are left out. Of a model without seeds all stay.

    Args:
        rows: columns of the table `predictions`; a model that predicts several folds with one seed has no seeds.
        folds: their number.
    """
    if not len(rows):
        return rows
    by_run = rows.groupby(["variant", "seed"], observed=True, sort=False)
    has_seeds = by_run[FOLD].transform("nunique") == 1
    seeds_by_variant = {
        str(variant): whole_repeats(sorted({*of_variant["seed"]}), folds)
        for variant, of_variant in rows[has_seeds].groupby("variant", observed=True)
    }
    pairs = zip(rows["variant"], rows["seed"], has_seeds, strict=True)
    is_whole = [not has_seed or seed in seeds_by_variant[str(variant)] for variant, seed, has_seed in pairs]
    first_seeds = [repeat_of(seed, folds) * folds + 1 for seed in rows["seed"]]
    return rows.assign(seed=np.where(has_seeds, first_seeds, rows["seed"]))[is_whole]
