"""Which way to keep: the cheapest that is proved to be no worse than the best by what matters.

The rule is that of docs/verdicts.md: one look at six seeds, one-sided p, corrected by Holm over all ways. The best is
the way with the highest mean. Since it is chosen by its scores, others look worse beside it than they are: that makes
"no worse" harder to prove, and never easier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtbert.claims.budget_runs import BudgetRuns, unlike
from mtbert.claims.judging import Reason
from mtbert.claims.reading import Expected, Names
from mtbert.claims.rule import NOTHING, SEEDS, PValues, Verdict, corrected, part_p
from mtbert.stats import LEAST_CLUSTERS, Difference
from mtbert.stats.power import Needed, needed


@dataclass(frozen=True)
class Case:
    """One way against another, on one metric.

    Attributes:
        ours, other: the models of each way: one, or one a task.
        margin, expects: as in a claim's part.
    """

    ours: Names
    other: Names
    metric: str
    margin: float
    expects: Expected = "close"


@dataclass(frozen=True)
class Comparison:
    """What the runs say of a case: the difference, and the verdict, or the reason for none."""

    case: Case
    difference: Difference | None
    reason: Reason | None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Choice:
    """What to keep, by the numbers of the ways.

    Attributes:
        best: the way with the highest mean.
        kept: the cheapest way that is proved to be no worse; the best itself where that is refuted of all that are
            cheaper; None where it cannot be told, and below SEEDS seeds.
        likely: where it cannot be told, the best of those ways that are cheaper and may be no worse, if there are any.
        against: that way less the best.
        needed: what would decide on it; None where that is not known.
        seeds: the fewest seeds that a way has.
    """

    best: int
    kept: int | None
    likely: int | None = None
    against: Comparison | None = None
    needed: Needed | None = None
    seeds: int = 0


def judge(runs: BudgetRuns, cases: Sequence[Case]) -> list[Comparison]:
    """Judge cases; their p are corrected over all of them."""
    comparisons = [_compared(runs, case) for case in cases]
    every = corrected([_p(comparison) for comparison in comparisons])
    return [
        replace(comparison, verdict=None if comparison.reason else p.verdict)
        for comparison, p in zip(comparisons, every, strict=True)
    ]


def _compared(runs: BudgetRuns, case: Case) -> Comparison:
    difference = runs.compare(case.ours, case.other, case.metric, SEEDS)
    return Comparison(case, difference, _reason(runs, case, difference))


def _reason(runs: BudgetRuns, case: Case, difference: Difference | None) -> Reason | None:
    """Return why a case is not judged; None where it is."""
    if difference is None:
        return Reason.NOT_RUN
    if unlike(runs.lines([*case.ours, *case.other])):
        return Reason.UNLIKE_RUNS
    if min(difference.seeds) < SEEDS:
        return Reason.FEW_SEEDS
    return Reason.FEW_CLUSTERS if difference.clusters < LEAST_CLUSTERS else None


def _p(comparison: Comparison) -> PValues:
    difference, case = comparison.difference, comparison.case
    if comparison.reason or difference is None or difference.error is None:
        return NOTHING
    return part_p(case.expects, case.margin, None, difference)


def choose(
    runs: BudgetRuns,
    ways: Sequence[Names],
    means: Sequence[float],
    costs: Sequence[float],
    metric: str,
    margin: float,
) -> Choice:
    """Choose what to keep.

    Args:
        runs: those of the ways.
        ways: those that can be kept.
        means: the mean score of each.
        costs: the weights of each that have to be kept.
        metric: what they are compared by.
        margin: the smallest difference that matters.
    """
    best = max(range(len(ways)), key=means.__getitem__)
    others = [number for number in range(len(ways)) if number != best]
    judged = judge(runs, [Case(ways[number], ways[best], metric, margin, "not lower") for number in others])
    by_number = dict(zip(others, judged, strict=True))
    seeds = min((min(one.difference.seeds) for one in judged if one.difference), default=0)
    good = [number for number, one in by_number.items() if one.verdict is Verdict.HOLDS]
    kept = min([best, *good], key=costs.__getitem__)
    cheaper = [number for number in others if costs[number] < costs[best]]
    open_ones = [number for number in cheaper if by_number[number].verdict is not Verdict.FAILS]
    if kept != best or (not open_ones and seeds >= SEEDS):
        return Choice(best, kept, seeds=seeds)
    if not open_ones:
        return Choice(best, None, seeds=seeds)
    likely = max(open_ones, key=means.__getitem__)
    against = by_number[likely]
    decides = needed(against.difference, margin, SEEDS) if against.difference else None
    return Choice(best, None, likely, against, decides, seeds)
