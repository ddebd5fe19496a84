"""All that is concluded from results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtbert.judge import answer, confirmation, own, paper_rows
from mtbert.judge.answer import UNKNOWN, Answer, Request
from mtbert.judge.comparison import Comparison
from mtbert.judge.confirmation import Confirmation
from mtbert.judge.rows import Row
from mtbert.judge.scoreboard import Scoreboard
from mtbert.judge.training_check import TrainingCheck
from mtbert.scores.results import Results


@dataclass(frozen=True)
class Judgement:
    """All that is concluded from results; `mtbert.judge.tables` has it as two files.

    Attributes:
        results: those that are judged.
        rows: every variant and ensemble that is scored on dev, and single-task variants that make one row of all tasks.
        seedless_rows: the untrained encoder and the baselines, where they have scores.
        paper_rows: the rows of the papers' tables.
        answer: which way is to be kept; None if fewer than two ways train all tasks.
        confirmation: what test says of the answer; None before the last seed, and without labels of test.
        own: the differences of one's own variants.
    """

    results: Results
    rows: Sequence[Row]
    seedless_rows: Sequence[Row] = ()
    paper_rows: Sequence[Row] = ()
    answer: Answer | None = None
    confirmation: Confirmation | None = None
    own: Sequence[Comparison] = ()


def judge(results: Results, request: Request = UNKNOWN) -> Judgement:
    """Judge results; arguments as for `judge_board`."""
    return judge_board(Scoreboard(results), request)


def judge_board(board: Scoreboard, request: Request = UNKNOWN) -> Judgement:
    """Judge the scores of models.

    Args:
        board: their scores.
        request: what was asked for, if that is known. Test is looked at once, when all of its seeds are there.
    """
    check = TrainingCheck(board)
    which_way = answer.of_board(board, check, request)
    is_last = which_way is not None and not which_way.is_interim
    return Judgement(
        results=board.results,
        rows=[*_rows(board, check)],
        seedless_rows=[*_seedless_rows(board)],
        paper_rows=paper_rows.rows(board, check),
        answer=which_way,
        confirmation=confirmation.look(which_way, board) if which_way is not None and is_last else None,
        own=own.compare(board),
    )


def _rows(board: Scoreboard, check: TrainingCheck) -> Iterator[Row]:
    for names in board.results.groups:
        row = board.row(names)
        if row.scores:
            yield check.of(row)


def _seedless_rows(board: Scoreboard) -> Iterator[Row]:
    untrained = board.untrained()
    if untrained is not None:
        yield untrained
    yield from (row for row in map(board.baseline, board.results.baselines) if row.scores)
