"""All that is concluded from results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtbert.judge import answer, confirmation, paper_rows
from mtbert.judge.answer import NO_PLAN, Answer, Plan
from mtbert.judge.confirmation import Confirmation
from mtbert.judge.rows import Row, Scoreboard
from mtbert.judge.rule import Comparison, margins
from mtbert.judge.training_check import TrainingCheck
from mtbert.scores.described import CATALOG
from mtbert.scores.metrics import means
from mtbert.scores.results import Results
from mtbert.tasks import main


@dataclass(frozen=True)
class Judgement:
    """All that is concluded from results; `mtbert.judge.tables` has it as two files.

    Attributes:
        results: those that are judged.
        rows: every variant and ensemble that is scored on dev, and single-task variants that make one row of all tasks.
        baselines: those that have scores, the untrained encoder first.
        paper_rows: the rows of the papers' tables.
        answer: which way is to be kept; None if fewer than two ways train all tasks.
        confirmation: what test says of the answer; None before the last seed, and without labels of test.
        catalog: the comparisons of each variant of `catalog` with each other one.
    """

    results: Results
    rows: Sequence[Row]
    baselines: Sequence[Row] = ()
    paper_rows: Sequence[Row] = ()
    answer: Answer | None = None
    confirmation: Confirmation | None = None
    catalog: Sequence[Comparison] = ()


def judge(board: Scoreboard, plan: Plan = NO_PLAN) -> Judgement:
    """Judge the scores of models.

    Args:
        board: their scores.
        plan: what was asked for, if that is known. Test is looked at once, when all of its seeds are there.
    """
    check = TrainingCheck(board)
    which_way = answer.of_board(board, check, plan)
    is_last = which_way is not None and not which_way.is_interim
    return Judgement(
        results=board.results,
        rows=[*_rows(board, check)],
        baselines=board.baselines(),
        paper_rows=paper_rows.rows(board, check),
        answer=which_way,
        confirmation=confirmation.look(which_way, board) if which_way is not None and is_last else None,
        catalog=_catalog_comparisons(board),
    )


def _rows(board: Scoreboard, check: TrainingCheck) -> Iterator[Row]:
    for names in board.results.rows:
        row = board.row(names)
        if row.scores:
            yield check.checked(row)


def _catalog_comparisons(board: Scoreboard) -> list[Comparison]:
    """Return the comparisons of each variant of one's own and each other one, on each metric that both have.

    Their sides may differ in anything, so they have no p. Of two of one's own the later one in the results comes first.
    """
    results, comparisons = board.results, list[Comparison]()
    margin_by_metric = margins(results.tasks)
    for own, other in _pairs(results):
        for metric in _shared_metrics(results, own, other):
            difference = board.budget_runs().compare((own,), (other,), metric)
            if difference is not None:
                margin = margin_by_metric[metric]
                comparisons.append(Comparison((own,), (other,), metric, "close", margin, difference))
    return comparisons


def _pairs(results: Results) -> Iterator[tuple[str, str]]:
    names = [*results.about]
    are_own = {name: about.paper == CATALOG for name, about in results.about.items()}
    for number, own in enumerate(names):
        if are_own[own]:
            earlier = names[:number]
            yield from ((own, other) for other in names if not are_own[other] or other in earlier)


def _shared_metrics(results: Results, own: str, other: str) -> list[str]:
    """Return the tasks that both models have, and the means if these are all."""
    tasks = results.tasks
    shared_tasks = {*results.about[own].tasks} & {*results.about[other].tasks}
    metrics = [task for task in tasks if task in shared_tasks]
    return [*metrics, *means(tasks)] if {*main(tasks)} <= shared_tasks else metrics
