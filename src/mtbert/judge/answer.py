"""Which way to keep: the cheapest that is proved to be no worse than the best by what matters.

The rule is that of docs/verdicts.md: one look at all seeds, at least six, one-sided p, corrected by Holm over all ways.
A way without seeds, such as a baseline, is asked for none; two of them are compared by rows alone.
The best is the way with the highest mean. Since it is chosen by its scores, others look worse beside it than they are:
that makes "no worse" harder to prove, and never easier.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mtbert.judge import training_check
from mtbert.judge.budget_runs import are_unequal
from mtbert.judge.rows import Row, Scoreboard, rank
from mtbert.judge.rule import SEEDS, Comparison, Expected, Verdict, compare_ways, margins
from mtbert.judge.training_check import TrainingCheck
from mtbert.scores import metrics
from mtbert.scores.described import CATALOG, MAJORITY, RIVALS, UNTRAINED
from mtbert.scores.results import Results
from mtbert.stats import Estimate
from mtbert.stats.power import SampleSize, sample_size
from mtbert.tasks import main

STUDY = "own"  # the paper of the ways to train one's own tasks


@dataclass(frozen=True)
class Plan:
    """What was asked for, by the plan of a build folder; evidence does not have it.

    Attributes:
        seeds: how many for each way; 0 where nobody knows.
        trials: by variant, the rates that were tried before, each with `factor`, `score` and `seconds`; None where
            nobody knows.
        limit: the most that a way to keep may cost to run, by a name of its costs; none for no limit.
    """

    seeds: int = 0
    trials: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
    limit: Mapping[str, float] = field(default_factory=dict)


NO_PLAN = Plan()


def plan_of(catalog: Mapping[str, Any]) -> Plan:
    """Return what was asked for, by a plan's catalog."""
    tuned = catalog.get("tuned") or {}
    limit = {name: value for name, value in (catalog.get("limit") or {}).items() if value is not None}
    return Plan(len(catalog["seeds"]), {name: entry.get("trials") or [] for name, entry in tuned.items()}, limit)


@dataclass(frozen=True)
class Choice:
    """What to keep, or what would decide.

    Attributes:
        kept: the cheapest way that is proved to be no worse than the best; the best itself, if it may be kept and every
            cheaper way is proved to be worse. None if neither is proved, or if there are fewer than SEEDS seeds.
        runner_up: if nothing is kept, the best of the ways that are cheaper and may be no worse; if the best may not be
            kept, the best of those that may. None if there are none.
        against: the runner-up less the best.
        seeds: the fewest seeds that a way has, of those that have seeds; None if none has, 0 if nothing was compared.
        sample_size: what would decide whether the runner-up is no worse; None where there is none, or nobody knows.
    """

    kept: Row | None
    runner_up: Row | None = None
    against: Comparison | None = None
    seeds: int | None = None
    sample_size: SampleSize | None = None

    @property
    def lacks_seeds(self) -> bool:
        """Whether a way that has seeds has fewer than a verdict needs."""
        return self.seeds is not None and self.seeds < SEEDS


@dataclass(frozen=True)
class Answer:
    """The ways that were trained, the best first, and what is proved of them.

    Attributes:
        results: those that are judged.
        ways: the rows of at least two.
        plan: what was asked for.
        baselines: those that have scores, the untrained encoder first.
        against_single_task: each other way against one model per task, in their order; none if that was not trained.
        against_best: the candidates against the best way, in their order without it.
        by_task: what the way to keep costs each task against one model per task; none if either is missing.
    """

    results: Results
    ways: Sequence[Row]
    plan: Plan = NO_PLAN
    baselines: Sequence[Row] = ()
    against_single_task: Sequence[Comparison] = ()
    against_best: Sequence[Comparison] = ()
    by_task: Sequence[Comparison] = ()

    @property
    def tasks(self) -> list[str]:
        """Those of the mean."""
        return [*main(self.results.tasks)]

    @property
    def metric(self) -> str:
        """The mean over tasks."""
        return metrics.means(self.results.tasks)[0]

    @property
    def margin(self) -> float:
        """The smallest difference of the mean that matters: the largest of the tasks'."""
        return margins(self.results.tasks)[self.metric]

    @cached_property
    def majority(self) -> dict[str, float]:
        """The score of the class that most training rows have, by task of classes; none where it is one of the ways."""
        if MAJORITY in self.results.baselines:
            return {}
        scores = training_check.majority_scores(self.results)
        return {task: scores[task] for task in self.tasks if task in scores}

    @property
    def untrained(self) -> Row | None:
        """The row of the starting weights; None where nobody has scored them."""
        return next((row for row in self.baselines if row.names == (UNTRAINED,)), None)

    @property
    def incomplete(self) -> list[Row]:
        """The rows of others who have predicted some of the tasks."""
        return [row for row in self.baselines if row.is_of_others and not {*self.tasks} <= {*row.scores}]

    @cached_property
    def single_task(self) -> Row | None:
        """The way of one model per task; None if it was not trained. Of several the first in the results."""
        in_results = [*self.results.about]
        ways = [way for way in self.ways if len(way.names) == len(self.tasks) > 1]
        return min(ways, key=lambda way: in_results.index(way.names[0]), default=None)

    @property
    def others(self) -> list[Row]:
        """The ways but one model per task."""
        return [way for way in self.ways if way is not self.single_task]

    @cached_property
    def against_single_task_by_label(self) -> dict[str, Comparison]:
        """Each way against one model per task, by label."""
        if not self.against_single_task:
            return {}
        labels = [way.label for way in self.others]
        return dict(zip(labels, self.against_single_task, strict=True))

    @property
    def seeds(self) -> int:
        """The fewest seeds of a way that was trained."""
        return min(len(way.seeds) for way in self.ways if not way.is_baseline)

    @property
    def is_interim(self) -> bool:
        """Whether further seeds were asked for."""
        return self.seeds < self.plan.seeds

    @property
    def good_enough(self) -> list[Row]:
        """Baselines but the majority class, and all ways that are trained well enough, whatever they cost to run.

        Predictions of others are no model that could be kept, and have no weights by which it would be the cheapest.
        """
        here = [way for way in self.ways if not way.is_of_others]
        return [way for way in here if way.is_trained_enough and way.names != (MAJORITY,)]

    @property
    def limit(self) -> Mapping[str, float]:
        """The limit that was asked for; none where the costs of no trained way are known, as in an interim answer."""
        return self.plan.limit if any(way.costs for way in self.ways if not way.is_baseline) else {}

    @cached_property
    def candidates(self) -> list[Row]:
        """The ways that may be kept: those that are good enough, within the limit."""
        return [way for way in self.good_enough if not self.over_limit(way)]

    def over_limit(self, way: Row) -> list[str]:
        """Return what of a way is over the limit, or was not measured, by name."""
        return [name for name, most in self.limit.items() if way.costs.get(name, math.inf) > most]

    @cached_property
    def best(self) -> Row:
        """The way with the highest mean of those within the limit, else of all that are here; it may fail its check."""
        here = [way for way in self.ways if not way.is_of_others]
        return next((way for way in here if not self.over_limit(way)), here[0])

    @cached_property
    def choice(self) -> Choice | None:
        """What to keep; None if no way may be kept, or if there was only one to choose from."""
        if not self.candidates:
            return None
        is_alone = len(self.candidates) == 1 and self.candidates[0] is self.best
        if is_alone:
            return Choice(self.best) if len(self.good_enough) > 1 else None
        return choose(self.best, self.candidates, self.against_best)

    @property
    def kept(self) -> Row | None:
        """The way to keep; None where nothing is decided."""
        return self.choice and self.choice.kept

    def compared(self, ours: Row, other: Row, metric: str, expects: Expected = "close") -> Comparison:
        """Return the comparison of two ways on the mean over tasks, or on one of them, before it is made."""
        margin = self.margin if metric == self.metric else self.results.tasks[metric].matters
        return Comparison(ours=ours.names, other=other.names, metric=metric, margin=margin, expects=expects)

    @cached_property
    def unequal(self) -> list[Row]:
        """The ways that see other numbers of examples of a task than one model per task does."""
        if self.single_task is None:
            return []
        usual = self._examples(self.single_task)
        trained = [way for way in self.ways if not way.is_baseline]
        return [way for way in trained if self._differs(self._examples(way), usual)]

    def _differs(self, counts: dict[str, float], usual: dict[str, float]) -> bool:
        return any(are_unequal(counts[task], usual[task]) for task in self.tasks)

    def _examples(self, way: Row) -> dict[str, float]:
        """Return how many examples of each task a way sees, as a mean over seeds."""
        runs = self.results.trained
        runs = runs[runs["variant"].isin(self.results.trained_for(way.names))]
        means = runs.groupby(level="variant")[[f"examples_{task}" for task in self.tasks]].mean()
        return dict(zip(self.tasks, means.astype(float).sum().tolist(), strict=True))


def choose(best: Row, candidates: Sequence[Row], against_best: Sequence[Comparison]) -> Choice:
    """Choose what to keep.

    Args:
        best: the way with the highest mean, which may be none of the candidates.
        candidates: the ways that may be kept, in the order of their means.
        against_best: each of them but the best against it, in their order.
    """
    judged = [*zip([way for way in candidates if way is not best], against_best, strict=True)]
    seeds = _fewest_seeds([comparison.difference for comparison in against_best if comparison.difference])
    no_worse = [way for way, comparison in judged if comparison.p.verdict is Verdict.HOLDS]
    if best not in candidates:
        return Choice(min(no_worse, key=_cost), seeds=seeds) if no_worse else _undecided(*judged[0], seeds, len(judged))
    kept = min([best, *no_worse], key=_cost)
    undecided = [
        (way, comparison)
        for way, comparison in judged
        if _cost(way) < _cost(best) and comparison.p.verdict is not Verdict.FAILS
    ]
    if not undecided:
        decided = Choice(kept, seeds=seeds)
        return replace(decided, kept=None) if kept is best and decided.lacks_seeds else decided
    if kept is not best:
        return Choice(kept, seeds=seeds)
    return _undecided(*undecided[0], seeds, len(judged))


def _undecided(runner_up: Row, against: Comparison, seeds: int | None, comparisons: int) -> Choice:
    """Return that nothing is kept, and what would decide; of so many comparisons one is of the runner-up."""
    decisive = None
    if against.difference is not None:
        decisive = sample_size(against.difference, against.margin, SEEDS, comparisons)
    return Choice(None, runner_up, against, seeds, decisive)


def _cost(way: Row) -> float:
    """Return the weights that have to be kept of a way."""
    return way.weights["stored"]


def _fewest_seeds(differences: Sequence[Estimate]) -> int | None:
    """Return the fewest seeds of a side that has seeds; None where no side has, 0 where nothing was compared."""
    counts = [difference.fewest_seeds for difference in differences if difference.fewest_seeds is not None]
    return min(counts, default=None if differences else 0)


def of_board(board: Scoreboard, check: TrainingCheck, plan: Plan = NO_PLAN) -> Answer | None:
    """Return the answer to which way is to be kept; None if fewer than two ways train all tasks."""
    results, tasks = board.results, main(board.results.tasks)
    trained = [check.checked(way) for way in _trained_ways(board) if {*tasks} <= {*way.scores}]
    if len(trained) < 2:
        return None
    baselines = board.baselines()
    of_all_tasks = [way for way in baselines if way.names != (UNTRAINED,) and {*tasks} <= {*way.scores}]
    in_order = sorted(_with_distinct_labels([*trained, *of_all_tasks]), key=lambda way: rank(way, results.tasks))
    return _judged(Answer(results, in_order, plan, baselines), board)


def _with_distinct_labels(rows: Sequence[Row]) -> list[Row]:
    """Return rows with labels that each has alone: where several have one, their names stand behind it."""
    counts = Counter(row.label for row in rows)
    return [
        row if counts[row.label] == 1 else replace(row, label=f"{row.label} ({', '.join(row.names)})") for row in rows
    ]


def _judged(answer: Answer, board: Scoreboard) -> Answer:
    """Return the answer with its comparisons; which tasks are compared depends on which way is kept."""
    runs, single_task = board.budget_runs(), answer.single_task
    answer = replace(
        answer,
        against_single_task=compare_ways(runs, comparisons_with_single_task(answer)),
        against_best=compare_ways(runs, comparisons_with_best(answer)),
    )
    kept = answer.kept
    if single_task is None or kept is None or kept is single_task:
        return answer
    by_task = [answer.compared(kept, single_task, task) for task in answer.tasks]
    return replace(answer, by_task=compare_ways(runs, by_task))


def comparisons_with_single_task(answer: Answer) -> list[Comparison]:
    """Return the comparisons of each other way with one model per task, before they are made; none if it is missing."""
    single_task = answer.single_task
    if single_task is None:
        return []
    return [answer.compared(way, single_task, answer.metric) for way in answer.others]


def comparisons_with_best(answer: Answer) -> list[Comparison]:
    """Return the comparisons of the other candidates with the best way, before they are made."""
    best = answer.best
    others = [way for way in answer.candidates if way is not best]
    return [answer.compared(way, best, answer.metric, "not lower") for way in others]


def _trained_ways(board: Scoreboard) -> Iterator[Row]:
    """Yield the row of each way: of one's own study, else the rivals of PALs."""
    for paper in (STUDY, CATALOG) if STUDY in board.results.by_paper else (RIVALS,):
        for label in _labels(board.results, paper):
            rows = board.results.into_rows(board.results.answering(paper, label) or [label])
            for names in rows:
                row = board.row(names)
                yield replace(row, label=label if len(rows) == 1 else f"{label} ({row.label})")


def _labels(results: Results, paper: str) -> list[str]:
    """Return the labels of a paper's rows, each once; a variant without one is a row by its name."""
    labels: dict[str, None] = {}
    for name, about in results.about.items():
        if paper == RIVALS and about.rival:
            labels[about.rival] = None
        elif about.paper == paper:
            labels[about.row or name] = None
    return [*labels]
