"""The tables of results, and what they say.

`runs` has a row for each training and vote, `predictions` one for each row that a run predicted, `history` one for each
value that a training logged, `points` one for each dev row that has a place in a picture, of one seed of a variant.
"""

from dataclasses import dataclass, field
from functools import cached_property

from pydantic import ValidationError

from mtbert.errors import DataError, in_words
from mtbert.scores import rounds
from mtbert.scores.columns import KEY, Frame, PredictionsByTask, metric_names, schema
from mtbert.scores.described import DESCRIPTIONS, About, Costs, Data, RunDescription, StartingWeights
from mtbert.tasks import Tasks

SEEDLESS = ("baseline", "encoder")  # kinds of models that no seed changes, so that they have one set of predictions


def no_points() -> Frame:
    """Return a table `points` without rows."""
    import pandas as pd

    return pd.DataFrame(columns=schema("points", {}).names)


@dataclass
class Results:
    """The tables; `runs` is small, `predictions` may have millions of rows."""

    runs: Frame
    predictions: Frame
    history: Frame
    points: Frame = field(default_factory=no_points)

    @cached_property
    def descriptions(self) -> list[RunDescription]:
        """What each row of `runs` says; DataError, with the number of a row from 0, for a value of another kind."""
        try:
            return DESCRIPTIONS.validate_python(self.runs.to_dict("records"))
        except ValidationError as error:
            raise DataError(f"runs: {in_words(error)[:300]}") from None

    @cached_property
    def about(self) -> dict[str, About]:
        """What the settings say of each variant or ensemble, by name, in the tables' order."""
        return {run.variant: run.settings for run in self.descriptions if run.kind not in SEEDLESS}

    @cached_property
    def trained(self) -> Frame:
        """The runs without baselines and the untrained encoder."""
        return self.runs[~self.runs["kind"].isin(SEEDLESS)]

    @cached_property
    def baselines(self) -> Frame:
        """The rows of `runs` of the baselines, by variant; none in evidence of before 2026-11-28."""
        return self.runs[self.runs["kind"] == "baseline"].set_index("variant", drop=False)

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
        """Return the predictions of a task's dev rows that count, of all models; of folds, those of whole rounds."""
        predicted = self.predictions
        is_of_dev = (predicted["task"] == task) & (predicted["split"] == "dev")
        rows = predicted[is_of_dev & predicted["scored"] & predicted["label"].notna()]
        folds = self.tasks[task].folds
        return rounds.pooled(rows, folds) if folds else rows

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
    def by_run(self) -> dict[tuple[str, int, str], PredictionsByTask]:
        """Predictions by variant, seed and split, then by task; the rows in the order of the data."""
        by_run: dict[tuple[str, int, str], PredictionsByTask] = {}
        groups = self.predictions.groupby([*KEY, "split", "task"], observed=True, sort=False)
        for (variant, seed, split, task), table in groups:
            by_run.setdefault((variant, int(seed), split), {})[task] = table.sort_values("row")
        return by_run
