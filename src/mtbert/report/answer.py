"""Which way to keep: the ways to train all tasks, and what is proved of them by `mtbert.claims.ways`.

`mtbert.report.answer_section` puts it into words, `mtbert.report.pictures.ways` into a picture.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mtbert import claims
from mtbert.claims import Comparison, Part, ways
from mtbert.claims.ways import Choice
from mtbert.report import training_check
from mtbert.report.scoreboard import RIVALS, Row, Scoreboard
from mtbert.report.training_check import Check, TrainingCheck
from mtbert.scores import metrics
from mtbert.scores.described import MAJORITY, OWN
from mtbert.tasks import main

STUDY = "own"  # the paper of the ways to train one's own tasks


@dataclass(frozen=True)
class Plan:
    """What the plan of a build folder says beside the results; evidence does not have it.

    Attributes:
        seeds: how many each way is to be trained with; 0 where nobody knows.
        trials: by variant, the rates that were tried before, each with `factor`, `score` and `seconds`; None where
            nobody knows.
    """

    seeds: int = 0
    trials: Mapping[str, Sequence[Mapping[str, float]]] | None = None


UNKNOWN = Plan()


def plan_of(catalog: Mapping[str, Any]) -> Plan:
    """Return what a plan's catalog says."""
    tuned = catalog.get("tuned") or {}
    return Plan(len(catalog["seeds"]), {name: entry.get("trials") or [] for name, entry in tuned.items()})


class Answer:
    """The ways that were trained, the best first, and what is proved of them.

    Attributes:
        board: the scores that they are compared by.
        tasks: those of the mean.
        metric: the mean over tasks.
        margin: the smallest difference of it that matters: the largest of the tasks'.
        ways: the rows of at least two.
        baseline: the way of one model per task; None if it was not trained.
        checks: by label, whether a way is trained well enough to be compared; none of BASELINES.
        runs: those of the ways, in the form that the rule takes.
        plan: what was asked for.
    """

    def __init__(self, board: Scoreboard, ways: Sequence[Row], check: TrainingCheck, plan: Plan) -> None:
        self.board = board
        self.plan = plan
        self.tasks = [*main(board.results.tasks)]
        self.metric = metrics.means(board.results.tasks)[0]
        self.margin = claims.margins(board.results.tasks)[self.metric]
        self.ways = sorted(ways, key=board.rank)
        self.baseline = next((way for way in ways if len(way.names) == len(self.tasks) > 1), None)
        self.checks: dict[str, Check] = {way.label: check.of(way) for way in ways if not way.is_baseline}
        self.runs = board.budget_runs()

    @cached_property
    def against_baseline(self) -> dict[str, Comparison]:
        """Each way against one model per task, by label."""
        if self.baseline is None:
            return {}
        others = [way for way in self.ways if way is not self.baseline]
        parts = [self.close(way, self.baseline, self.metric) for way in others]
        comparisons = ways.judge(self.runs, parts)
        return {way.label: comparison for way, comparison in zip(others, comparisons, strict=True)}

    @property
    def seeds(self) -> int:
        """The fewest seeds of a way that was trained."""
        return min(len(way.seeds) for way in self.ways if not way.is_baseline)

    @property
    def is_interim(self) -> bool:
        """Whether further seeds were asked for."""
        return self.seeds < self.plan.seeds

    @cached_property
    def candidates(self) -> list[int]:
        """The numbers of the ways that may be kept: baselines but the majority class, and all that pass the check."""
        numbers: list[int] = []
        for number, way in enumerate(self.ways):
            fails = way.label in self.checks and self.checks[way.label].fails
            if not fails and way.names != (MAJORITY,):
                numbers.append(number)
        return numbers

    @cached_property
    def choice(self) -> Choice | None:
        """What to keep; None where fewer than two ways may be kept."""
        numbers = self.candidates
        if len(numbers) < 2:
            return None
        candidates = [self.ways[number] for number in numbers]
        names = [way.names for way in candidates]
        means = [way.scores[self.metric].mean for way in candidates]
        weights = [way.weights["stored"] for way in candidates]
        choice = ways.choose(self.runs, names, means, weights, self.metric, self.margin)
        kept = None if choice.kept is None else numbers[choice.kept]
        likely = None if choice.likely is None else numbers[choice.likely]
        return replace(choice, best=numbers[choice.best], kept=kept, likely=likely)

    @property
    def kept(self) -> Row | None:
        """The way to keep; None where nothing is decided."""
        return None if self.choice is None or self.choice.kept is None else self.ways[self.choice.kept]

    @property
    def best(self) -> Row:
        """The way with the highest mean of those that may be kept, else of all."""
        return self.ways[self.candidates[0] if self.candidates else 0]

    @property
    def shown(self) -> Row:
        """The way that the report shows more of: the one to keep, else the best."""
        return self.kept or self.best

    @cached_property
    def by_task(self) -> dict[str, Comparison]:
        """What the way to keep costs each task against one model per task; nothing if either is missing."""
        if self.baseline is None or self.kept is None or self.kept is self.baseline:
            return {}
        parts = [self.close(self.kept, self.baseline, task) for task in self.tasks]
        return dict(zip(self.tasks, ways.judge(self.runs, parts), strict=True))

    def close(self, ours: Row, other: Row, metric: str) -> Part:
        """Return the comparison whether two ways are close on the mean over tasks, or on one of them."""
        margin = self.margin if metric == self.metric else self.board.results.tasks[metric].matters
        return Part(ours=ours.names, other=other.names, metric=metric, margin=margin, expects="close")

    @cached_property
    def majority(self) -> dict[str, float]:
        """The score of the class that most training rows have, by task; none for scores, and where it is a way."""
        if MAJORITY in self.board.baselines:
            return {}
        scores = training_check.constant_scores(self.board)
        counted = [task for task in self.tasks if task in scores and training_check.label_counts(self.board, task)]
        return {task: scores[task] for task in counted if self.board.results.tasks[task].kind != "score"}

    @cached_property
    def unequal(self) -> list[Row]:
        """The ways that see other numbers of examples of a task than one model per task does."""
        if self.baseline is None:
            return []
        usual = self._examples(self.baseline)
        trained = [way for way in self.ways if not way.is_baseline]
        return [way for way in trained if self._differs(self._examples(way), usual)]

    def _differs(self, counts: dict[str, float], usual: dict[str, float]) -> bool:
        return any(claims.are_unequal(counts[task], usual[task]) for task in self.tasks)

    def _examples(self, way: Row) -> dict[str, float]:
        """Return how many examples of each task a way sees, as a mean over seeds."""
        runs = self.board.runs
        runs = runs[runs["variant"].isin(self.board.trained_for(way.names))]
        means = runs.groupby(level="variant")[[f"examples_{task}" for task in self.tasks]].mean()
        return dict(zip(self.tasks, means.astype(float).sum().tolist(), strict=True))


def of_board(board: Scoreboard, check: TrainingCheck | None = None, plan: Plan = UNKNOWN) -> Answer | None:
    """Return the answer to which way is to be kept; None if fewer than two ways train all tasks.

    `check` is that of the board, if it is there already.
    """
    tasks = {*main(board.results.tasks)}
    trained = [way for way in _trained_ways(board) if tasks <= {*way.scores}]
    baselines = [way for way in map(board.baseline, board.baselines) if tasks <= {*way.scores}]
    return Answer(board, [*trained, *baselines], check or TrainingCheck(board), plan) if len(trained) > 1 else None


def _trained_ways(board: Scoreboard) -> Iterator[Row]:
    """Yield the row of each way: of one's own study, else the rivals of PALs."""
    for paper in (STUDY, OWN) if STUDY in board.by_paper else (RIVALS,):
        for label in _labels(board, paper):
            models = board.joined(board.answering(paper, label) or [label])
            for names in models:
                row = board.row(names)
                yield replace(row, label=label if len(models) == 1 else f"{label} ({row.label})")


def _labels(board: Scoreboard, paper: str) -> list[str]:
    """Return the labels of a paper's rows, each once; a variant without one is a row by its name."""
    labels: dict[str, None] = {}
    for name, about in board.about.items():
        if paper == RIVALS and about.rival:
            labels[about.rival] = None
        elif about.paper == paper:
            labels[about.row or name] = None
    return [*labels]
