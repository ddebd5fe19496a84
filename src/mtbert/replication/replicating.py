"""All that is concluded from results, with the papers' claims: what stages and commands call."""

from collections.abc import Sequence
from dataclasses import dataclass

from mtbert.judge import UNKNOWN, Judgement, Request, Scoreboard, Verdict, judge_board, of_results
from mtbert.replication.claims import load
from mtbert.replication.judging import ClaimResult, at_a_third, judge_claims
from mtbert.scores.results import Results


@dataclass(frozen=True)
class Replication:
    """What is concluded from results.

    Attributes:
        judgement: what is judged of any results.
        claims: the papers' claims that were run; none on other data than the papers'.
        questions: those that the report begins with; none on other data.
    """

    judgement: Judgement
    claims: Sequence[ClaimResult] = ()
    questions: Sequence[ClaimResult] = ()


def replicate(results: Results, third: Results | None = None, request: Request = UNKNOWN) -> Replication:
    """Judge results, and the papers' claims if these are their data.

    Args:
        results: of the whole budget.
        third: of the same variants at a third of the budget, to show how differences move with it.
        request: what was asked for, if that is known.

    Raises:
        DataError: `third` has no run of a third of the budget.
    """
    board = Scoreboard(results)
    judgement = judge_board(board, request)
    if not board.results.is_comparable:
        return Replication(judgement)
    papers, whole = load(), board.budget_runs()
    third_runs = None if third is None else at_a_third(whole, of_results(third))
    claims = judge_claims(papers.claims.values(), whole, third_runs)
    return Replication(
        judgement,
        claims=[result for result in claims if result.verdict is not Verdict.NOT_RUN],
        questions=judge_claims(papers.questions.values(), whole, third_runs),
    )
