"""Which way to keep: the ways to train all tasks, and what is proved of them by `mtbert.claims.ways`.

`mtbert.report.answer_section` puts it into words, `mtbert.report.pictures.ways` into a picture.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mtbert import claims
from mtbert.claims import ways
from mtbert.claims.ways import Case, Choice, Comparison
from mtbert.report import training_check
from mtbert.report.scoreboard import RIVALS, Group, Scoreboard
from mtbert.report.training_check import Check, TrainingCheck
from mtbert.results import metrics
from mtbert.results.described import BASELINES, MAJORITY, OWN
from mtbert.tasks import main

STUDY = "own"  # the paper of the ways to train one's own tasks


@dataclass(frozen=True)
class Way:
    """A way to train all tasks: one model, or one for each.

    Attributes:
        label: its name in the report.
        group: its models and their scores.
        seconds: to train all of its models, one seed; None if nobody knows.
        milliseconds: of a prediction; None if it was not measured.
        is_baseline: whether it is one of BASELINES, which have no seeds and no training loss.
    """

    label: str
    group: Group
    seconds: float | None
    milliseconds: float | None
    is_baseline: bool = False

    @property
    def weights(self) -> float:
        """How many have to be kept."""
        return self.group.weights["stored"]


class Answer:
    """The ways that were trained, the best first, and what is proved of them.

    Attributes:
        board: the scores that they are compared by.
        tasks: those of the mean.
        metric: the mean over tasks.
        margin: the smallest difference of it that matters: the largest of the tasks'.
        ways: at least two.
        baseline: the way of one model per task; None if it was not trained.
        checks: by label, whether a way is trained well enough to be compared; none of BASELINES.
        runs: those of the ways, in the form that the rule takes.
    """

    def __init__(self, board: Scoreboard, ways: Sequence[Way], check: TrainingCheck) -> None:
        self.board = board
        self.tasks = [*main(board.results.tasks)]
        self.metric = metrics.means(board.results.tasks)[0]
        self.margin = claims.margins(board.results.tasks)[self.metric]
        self.ways = sorted(ways, key=lambda way: -way.group.means[self.metric].mean)
        self.baseline = next((way for way in ways if len(way.group.names) == len(self.tasks) > 1), None)
        self.checks: dict[str, Check] = {way.label: check.of(way.group) for way in ways if not way.is_baseline}
        self.runs = claims.of_results(board.results)

    @cached_property
    def against_baseline(self) -> dict[str, Comparison]:
        """Each way against one model per task, by label."""
        if self.baseline is None:
            return {}
        names = self.baseline.group.names
        others = [way for way in self.ways if way is not self.baseline]
        comparisons = ways.judge(self.runs, [Case(way.group.names, names, self.metric, self.margin) for way in others])
        return {way.label: comparison for way, comparison in zip(others, comparisons, strict=True)}

    @cached_property
    def candidates(self) -> list[int]:
        """The numbers of the ways that may be kept: baselines but the majority class, and all that pass the check."""
        numbers: list[int] = []
        for number, way in enumerate(self.ways):
            fails = way.label in self.checks and self.checks[way.label].fails
            if not fails and way.group.names != (MAJORITY,):
                numbers.append(number)
        return numbers

    @cached_property
    def choice(self) -> Choice | None:
        """What to keep; None where fewer than two ways may be kept."""
        numbers = self.candidates
        if len(numbers) < 2:
            return None
        candidates = [self.ways[number] for number in numbers]
        names = [way.group.names for way in candidates]
        means = [way.group.means[self.metric].mean for way in candidates]
        weights = [way.weights for way in candidates]
        choice = ways.choose(self.runs, names, means, weights, self.metric, self.margin)
        kept = None if choice.kept is None else numbers[choice.kept]
        likely = None if choice.likely is None else numbers[choice.likely]
        return replace(choice, best=numbers[choice.best], kept=kept, likely=likely)

    @property
    def kept(self) -> Way | None:
        """The way to keep; None where nothing is decided."""
        return None if self.choice is None or self.choice.kept is None else self.ways[self.choice.kept]

    @property
    def best(self) -> Way:
        """The way with the highest mean of those that may be kept, else of all."""
        return self.ways[self.candidates[0] if self.candidates else 0]

    @property
    def shown(self) -> Way:
        """The way that the report shows more of: the one to keep, else the best."""
        return self.kept or self.best

    @cached_property
    def by_task(self) -> dict[str, Comparison]:
        """What the way to keep costs each task against one model per task; nothing if either is missing."""
        if self.baseline is None or self.kept is None or self.kept is self.baseline:
            return {}
        ours, other = self.kept.group.names, self.baseline.group.names
        cases = [Case(ours, other, task, self.board.results.tasks[task].matters) for task in self.tasks]
        return dict(zip(self.tasks, ways.judge(self.runs, cases), strict=True))

    @cached_property
    def majority(self) -> dict[str, float]:
        """The score of the class that most training rows have, by task; none for scores, and where it is a way."""
        if MAJORITY in self.board.baselines:
            return {}
        scores = training_check.constant_scores(self.board)
        counted = [task for task in self.tasks if task in scores and training_check.label_counts(self.board, task)]
        return {task: scores[task] for task in counted if self.board.results.tasks[task].kind != "score"}

    @cached_property
    def unequal(self) -> list[Way]:
        """The ways that see other numbers of examples of a task than one model per task does."""
        if self.baseline is None:
            return []
        usual = self._examples(self.baseline)
        trained = [way for way in self.ways if not way.is_baseline]
        return [way for way in trained if self._differs(self._examples(way), usual)]

    def _differs(self, counts: dict[str, float], usual: dict[str, float]) -> bool:
        return any(claims.are_unequal(counts[task], usual[task]) for task in self.tasks)

    def _examples(self, way: Way) -> dict[str, float]:
        """Return how many examples of each task a way sees, as a mean over seeds."""
        runs = self.board.runs
        runs = runs[runs["variant"].isin(self.board.trained_for(way.group.names))]
        means = runs.groupby(level="variant")[[f"examples_{task}" for task in self.tasks]].mean()
        return dict(zip(self.tasks, means.astype(float).sum().tolist(), strict=True))


def of_board(board: Scoreboard, check: TrainingCheck | None = None) -> Answer | None:
    """Return the answer to which way is to be kept; None if fewer than two ways train all tasks.

    `check` is that of the board, if it is there already.
    """
    tasks = {*main(board.results.tasks)}
    every = [_way(board, models) for models in _labelled(board)]
    every += [_baseline(board, name) for name in board.baselines]
    whole = [way for way in every if tasks <= {*way.group.means} and way.group.seeds]
    trained = [way for way in whole if not way.is_baseline]
    return Answer(board, whole, check or TrainingCheck(board)) if len(trained) > 1 else None


class LabelledModels(NamedTuple):
    """The models of a way, and its name in the report."""

    label: str
    names: tuple[str, ...]


def _labelled(board: Scoreboard) -> Iterator[LabelledModels]:
    """Yield the models of each way: of one's own study, else the rivals of PALs."""
    for paper in (STUDY, OWN) if STUDY in board.by_paper else (RIVALS,):
        for row in _rows(board, paper):
            models = board.joined(board.answering(paper, row) or [row])
            for names in models:
                yield LabelledModels(row if len(models) == 1 else f"{row} ({', '.join(names)})", names)


def _rows(board: Scoreboard, paper: str) -> list[str]:
    """Return the rows of a paper, each once; a variant without one is a row by its name."""
    rows: dict[str, None] = {}
    for name, about in board.about.items():
        if paper == RIVALS and about.rival:
            rows[about.rival] = None
        elif about.paper == paper:
            rows[about.row or name] = None
    return [*rows]


def _way(board: Scoreboard, models: LabelledModels) -> Way:
    seconds = [_mean_over_seeds(board, name, "seconds") for name in board.trained_for(models.names)]
    milliseconds = [_mean_over_seeds(board, name, "milliseconds") for name in models.names]
    return Way(
        label=models.label,
        group=board.group(models.names),
        seconds=_none_for_nan(sum(seconds)),
        milliseconds=_none_for_nan(sum(milliseconds) / len(milliseconds)),
    )


def _baseline(board: Scoreboard, name: str) -> Way:
    run = board.results.baselines.loc[name]
    seconds, milliseconds = (_none_for_nan(float(run[column])) for column in ("seconds", "milliseconds"))
    return Way(BASELINES.get(name, name), board.baseline(name), seconds, milliseconds, is_baseline=True)


def _mean_over_seeds(board: Scoreboard, variant: str, column: str) -> float:
    return board.runs.loc[board.runs["variant"] == variant, column].astype(float).mean()


def _none_for_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
