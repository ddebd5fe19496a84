"""All that is concluded from results, with the papers' claims: what stages and commands call.

Claims are judged by the rule of docs/verdicts.md; p are corrected over all claims of a paper, run or not.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from mtbert.errors import DataError
from mtbert.judge import NO_PLAN, Judgement, Plan, Scoreboard, judge, settings_diff
from mtbert.judge.budget_runs import (
    UNEQUAL,
    BudgetRuns,
    TaskRows,
    are_unequal,
    code_mismatches,
    mean_per_seed,
    tasks_of,
)
from mtbert.judge.rule import (
    DIFFERENCES,
    NEEDS,
    NOTHING,
    SEEDS,
    Comparison,
    PValues,
    Verdict,
    claim_p,
    corrected,
    missing_data,
    sign,
)
from mtbert.replication.claims import Claim, ClaimPart, are_always_confounders, load
from mtbert.scores.columns import Frame
from mtbert.scores.described import UNTRAINED
from mtbert.scores.results import Results
from mtbert.stats import Estimate


@dataclass(frozen=True)
class ClaimComparison(Comparison):
    """One comparison of a claim, and what the runs say of it.

    Attributes:
        differs, confounded: as of `ClaimPart`.
        third: the mean difference at a third of the budget; None where that was not run.
        leak_free: the mean difference without rows that share a sentence with training; None where no row does.
    """

    differs: tuple[str, ...] = ()
    confounded: tuple[str, ...] = ()
    third: float | None = None
    leak_free: float | None = None

    @property
    def decides(self) -> bool:
        """Whether it counts for its claim."""
        return "confounders" not in self.mismatches and not are_always_confounders(self.confounded)

    @property
    def is_about_similarity(self) -> bool:
        """Whether it is about similarity, which some encoders were trained for: STS, or a technique for similarity."""
        return self.metric == "sts" or "similarity" in self.differs

    @property
    def changes_sign(self) -> bool:
        """Whether its sign changes from a third of the budget to all of it, by more than the margin."""
        if self.third is None or self.difference is None:
            return False
        whole = self.difference.mean
        return self.third * whole < 0 and abs(whole - self.third) > self.margin


@dataclass(frozen=True)
class ClaimResult:
    """What the runs say of a claim.

    Attributes:
        claim: as the file has it.
        p: one-sided, corrected over its paper's claims.
        comparisons: one for each part of the claim.
    """

    claim: Claim
    p: PValues
    comparisons: tuple[ClaimComparison, ...]

    @property
    def deciding(self) -> list[ClaimComparison]:
        """The comparisons that decide on it; if a learning rate confounds every one of them, all of them."""
        may_decide = [one for one in self.comparisons if not are_always_confounders(one.confounded)]
        return [one for one in may_decide if one.decides] or may_decide

    @property
    def verdict(self) -> Verdict:
        """What is proved of it; else which side of its only deciding comparison is better, or that it is not judged."""
        if self.p.verdict is not Verdict.TOO_CLOSE:
            return self.p.verdict
        if any(one.verdict is Verdict.NOT_RUN for one in self.deciding):
            return Verdict.NOT_RUN
        if self.reason:
            return Verdict.NOT_COMPARABLE if self.reason in DIFFERENCES else Verdict.OPEN
        return sign(self.deciding[0].difference)  # of several all are too close

    @property
    def reason(self) -> str:
        """Why it is not judged, of DIFFERENCES and NEEDS; empty where it is, or was not run."""
        if self.p.verdict is not Verdict.TOO_CLOSE or any(one.verdict is Verdict.NOT_RUN for one in self.deciding):
            return ""
        reasons = {one.reason for one in self.deciding}
        are_all_too_close = all(sign(one.difference) is Verdict.TOO_CLOSE for one in self.deciding)
        if len(self.deciding) > 1 and not are_all_too_close:
            reasons.add("parts")
        return next((reason for reason in (*DIFFERENCES, *NEEDS) if reason in reasons), "")


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


def replicate(results: Results, third: Results | None = None, plan: Plan = NO_PLAN) -> Replication:
    """Judge results, and the papers' claims if these are their data.

    Args:
        results: of the whole budget.
        third: of the same variants at a third of the budget, to show how differences move with it.
        plan: what was asked for, if that is known.

    Raises:
        DataError: `third` has no run of a third of the budget.
    """
    board = Scoreboard(results)
    judgement = judge(board, plan)
    if not board.results.is_comparable:
        return Replication(judgement)
    papers, whole = load(), board.budget_runs()
    third_runs = None if third is None else at_a_third(whole, BudgetRuns.from_results(third))
    claims = judge_claims(papers.claims.values(), whole, third_runs)
    return Replication(
        judgement,
        claims=[result for result in claims if result.verdict is not Verdict.NOT_RUN],
        questions=judge_claims(papers.questions.values(), whole, third_runs),
    )


def judge_claims(claims: Iterable[Claim], runs: BudgetRuns, third: BudgetRuns | None = None) -> list[ClaimResult]:
    """Judge each claim, in their order; p are corrected over the claims of one paper.

    Args:
        claims: of the claims file.
        runs: the runs of the whole budget.
        third: those of a third of it; None where there are none.
    """
    claims = list(claims)
    results: dict[str, ClaimResult] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        family = [claim for claim in claims if claim.paper == paper]
        for result in _judged(family, runs, third):
            results[result.claim.name] = result
    return [results[claim.name] for claim in claims]


def _judged(family: Sequence[Claim], runs: BudgetRuns, third: BudgetRuns | None) -> Iterator[ClaimResult]:
    """Yield the results of one paper's claims."""
    results = [
        ClaimResult(claim, NOTHING, tuple(compare(part, runs, third) for part in claim.parts)) for claim in family
    ]
    uncorrected = [claim_p([part.p for part in result.deciding]) for result in results]
    for result, p in zip(results, corrected(uncorrected), strict=True):
        yield replace(result, p=p)


def compare(part: ClaimPart, runs: BudgetRuns, third: BudgetRuns | None = None) -> ClaimComparison:
    """Return what the runs say of a part alone, by the first seeds of each side that the rule asks for."""
    comparison = ClaimComparison(**dict(part))
    difference = runs.compare(part.ours, part.other, part.metric, SEEDS)
    if difference is None:
        return comparison
    at_third = None if third is None else third.compare(part.ours, part.other, part.metric, SEEDS)
    comparison = replace(
        comparison,
        difference=difference,
        mismatches=_mismatches(comparison, runs),
        third=None if at_third is None else at_third.mean,
        leak_free=_leak_free_mean(comparison, runs, difference.rows),
    )
    comparison = replace(comparison, missing=_missing(comparison, difference, runs))
    return replace(comparison, p=comparison.uncorrected_p)


def _leak_free_mean(comparison: ClaimComparison, runs: BudgetRuns, rows: int) -> float | None:
    """Return the mean difference without rows that share a sentence with training; None if none of `rows` does."""
    leak_free = runs.compare(comparison.ours, comparison.other, comparison.metric, SEEDS, leak_free=True)
    return None if leak_free is None or leak_free.rows == rows else leak_free.mean


def _lines(comparison: ClaimComparison, runs: BudgetRuns) -> list[Frame]:
    """Return the lines of the runs that are compared: those of ours, and those of the other."""
    return [runs.lines(row, runs.seeds(row, comparison.metric)[:SEEDS]) for row in (comparison.ours, comparison.other)]


def _mismatches(comparison: ClaimComparison, runs: BudgetRuns) -> dict[str, tuple[str, ...]]:
    """Return names of that in which its sides were not trained alike, by what it is, of DIFFERENCES.

    `settings` are those that the claim does not name, `confounders` those that it names as such.
    """
    differing = settings_diff.differing_settings(runs.settings, comparison.ours, comparison.other)
    mismatches = {
        "code": code_mismatches(pd.concat(_lines(comparison, runs))),
        "settings": tuple(sorted(differing - {*comparison.differs, *comparison.confounded})),
        "confounders": tuple(sorted(differing & {*comparison.confounded})),
        "budgets": _unequal_budgets(comparison, runs),
    }
    return {name: names for name, names in mismatches.items() if names}


def _missing(comparison: ClaimComparison, difference: Estimate, runs: BudgetRuns) -> str:
    """Return what a verdict needs and the runs do not have, of NEEDS; empty for nothing."""
    if _is_below_untrained(comparison, runs):
        return "encoder"
    return missing_data(difference) or ("budget" if comparison.changes_sign else "")


def _unequal_budgets(comparison: ClaimComparison, runs: BudgetRuns) -> tuple[str, ...]:
    """Return which numbers of steps or examples differ between the sides, and the claim does not let differ."""
    ours, other = _lines(comparison, runs)
    if not len(ours) or not len(other):
        return ()
    columns: list[str] = []
    if "updates" not in comparison.differs:
        columns.append("steps")
    if "examples" not in comparison.differs:
        columns += [f"examples_{task}" for task in tasks_of(comparison.metric, runs.tasks)]
    return tuple(name for name in columns if are_unequal(mean_per_seed(ours, name), mean_per_seed(other, name)))


def _is_below_untrained(comparison: ClaimComparison, runs: BudgetRuns) -> bool:
    """Return whether it is about similarity, and the untrained encoder is above both sides on STS."""
    if not comparison.is_about_similarity:
        return False
    gains = [runs.compare(row, (UNTRAINED,), "sts") for row in (comparison.ours, comparison.other)]
    return all(gain is not None and gain.mean < 0 for gain in gains)


def at_a_third(whole: BudgetRuns, third: BudgetRuns) -> BudgetRuns:
    """Return the runs of `third` with the code of their variant's runs in `whole`, and a third of their steps.

    Raises:
        DataError: there is no such run.
    """
    names = third.runs["variant"].unique()
    variants = [name for name in names if _is_a_third(whole.lines([name]), third.lines([name]))]
    if not variants:
        raise DataError(
            "no run of --third had a third of the updates that its variant has in the report, and the same code and "
            "settings; allowed: evidence of the same variants at a third of their budget"
        )
    dev: dict[str, TaskRows] = {}
    for task, rows in third.dev.items():
        columns = [(name, seed) for name, seed in rows.predictions if name in variants or name in third.baselines]
        dev[task] = replace(rows, predictions=rows.predictions[columns])
    return replace(third, runs=third.lines(variants), dev=dev)


def _is_a_third(whole: Frame, third: Frame) -> bool:
    """Return whether the runs `third` of a variant are like `whole`, and have a third of their steps."""
    if not len(whole) or code_mismatches(pd.concat([whole, third])):
        return False
    steps = mean_per_seed(whole, "steps")
    return abs(3 * mean_per_seed(third, "steps") - steps) <= UNEQUAL * steps
