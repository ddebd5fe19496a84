"""Which way to keep: the cheapest that is proved to be no worse than the best by what matters.

The rule is that of docs/verdicts.md: one look at all seeds, at least six, one-sided p, corrected by Holm over all ways.
A way without seeds, such as a baseline, is asked for none; two of them are compared by rows alone.
The best is the way with the highest mean. Since it is chosen by its scores, others look worse beside it than they are:
that makes "no worse" harder to prove, and never easier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtbert.claims.budget_runs import BudgetRuns, unlike
from mtbert.claims.judging import Reason
from mtbert.claims.reading import Expected, Names
from mtbert.claims.rule import NOTHING, SEEDS, PValues, Standing, Verdict, corrected, part_p
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

    @property
    def standing(self) -> Standing:
        """What is proved of a case that expects the two to be close.

        By the margin and corrected over all cases: better, worse, close. Where none of these is proved, the interval
        of this difference may still leave out 0: then the sign is known, and the size is open.
        """
        if self.verdict is Verdict.HOLDS:
            return Standing.CLOSE
        if self.verdict is Verdict.FAILS and self.difference:
            return Standing.BETTER if self.difference.mean > 0 else Standing.WORSE
        if self.verdict is None or self.difference is None or self.difference.interval is None:
            return Standing.OPEN
        low, high = self.difference.interval
        if low > 0:
            return Standing.BETTER_SIZE_OPEN
        return Standing.WORSE_SIZE_OPEN if high < 0 else Standing.OPEN


@dataclass(frozen=True)
class Choice:
    """What to keep, by the numbers of the ways.

    Attributes:
        best: the way with the highest mean.
        kept: the cheapest way that is proved to be no worse; the best itself if all that are cheaper are proved to be
            worse; None if neither is proved, and below SEEDS seeds.
        likely: if nothing is kept, the best of the ways that are cheaper and may be no worse; None if there are none.
        against: the likely way less the best.
        needed: what would decide on it; None if that is not known.
        seeds: the fewest seeds that a way has, of those that have seeds; None if none has, 0 if nothing was compared.
    """

    best: int
    kept: int | None
    likely: int | None = None
    against: Comparison | None = None
    needed: Needed | None = None
    seeds: int | None = None

    @property
    def lacks_seeds(self) -> bool:
        """Whether a way that has seeds has fewer than a verdict needs."""
        return self.seeds is not None and self.seeds < SEEDS


def judge(runs: BudgetRuns, cases: Sequence[Case]) -> list[Comparison]:
    """Judge cases; their p are corrected over all of them."""
    comparisons = [_compared(runs, case) for case in cases]
    corrected_p = corrected([_p(comparison) for comparison in comparisons])
    judged = []
    for comparison, p in zip(comparisons, corrected_p, strict=True):
        judged.append(comparison if comparison.reason else replace(comparison, verdict=p.verdict))
    return judged


def _compared(runs: BudgetRuns, case: Case) -> Comparison:
    difference = runs.compare(case.ours, case.other, case.metric)  # of all seeds: a study says beforehand how many
    return Comparison(case, difference, _reason(runs, case, difference))


def _reason(runs: BudgetRuns, case: Case, difference: Difference | None) -> Reason | None:
    """Return why a case is not judged; None where it is."""
    if difference is None:
        return Reason.NOT_RUN
    if unlike(runs.lines([*case.ours, *case.other])):
        return Reason.UNLIKE_RUNS
    if difference.lacks_seeds(SEEDS):
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
    against_best = dict(zip(others, judged, strict=True))
    seeds = _fewest_seeds([comparison.difference for comparison in judged if comparison.difference])
    no_worse = [number for number in others if against_best[number].verdict is Verdict.HOLDS]
    kept = min([best, *no_worse], key=costs.__getitem__)
    cheaper = [number for number in others if costs[number] < costs[best]]
    undecided = [number for number in cheaper if against_best[number].verdict is not Verdict.FAILS]
    if not undecided:
        decided = Choice(best, kept, seeds=seeds)
        return replace(decided, kept=None) if kept == best and decided.lacks_seeds else decided
    if kept != best:
        return Choice(best, kept, seeds=seeds)
    likely = max(undecided, key=means.__getitem__)
    against = against_best[likely]
    what_decides = needed(against.difference, margin, SEEDS, len(others)) if against.difference else None
    return Choice(best, None, likely, against, what_decides, seeds)


def _fewest_seeds(differences: Sequence[Difference]) -> int | None:
    """Return the fewest seeds of a side that has seeds; None where no side has, 0 where nothing was compared."""
    counts = [difference.fewest_seeds for difference in differences if difference.fewest_seeds is not None]
    return min(counts, default=None if differences else 0)
