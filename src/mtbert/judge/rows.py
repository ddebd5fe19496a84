"""Rows of models: their scores with errors, what they cost, and whether they are trained well enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mtbert.config import papers
from mtbert.scores.described import BASELINES, BY_OTHERS, UNTRAINED
from mtbert.scores.metrics import means
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
