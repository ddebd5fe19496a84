"""Which way to keep: the cheapest that is proved to be no worse than the best by what matters.

The rule is that of docs/verdicts.md: one look at all seeds, at least six, one-sided p, corrected by Holm over all ways.
A way without seeds, such as a baseline, is asked for none; two of them are compared by rows alone.
The best is the way with the highest mean. Since it is chosen by its scores, others look worse beside it than they are:
that makes "no worse" harder to prove, and never easier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtbert.claims.budget_runs import BudgetRuns, unlike
from mtbert.claims.judging import Comparison, with_p
from mtbert.claims.reading import Names, Part
from mtbert.claims.rule import SEEDS, Verdict, corrected
from mtbert.stats import LEAST_CLUSTERS, Difference
from mtbert.stats.power import Needed, needed


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


def judge(runs: BudgetRuns, parts: Sequence[Part]) -> list[Comparison]:
    """Judge comparisons of ways; their p are corrected over all of them."""
    comparisons = [with_p(_compared(runs, part)) for part in parts]
    corrected_p = corrected([comparison.p for comparison in comparisons])
    return [replace(comparison, p=p) for comparison, p in zip(comparisons, corrected_p, strict=True)]


def _compared(runs: BudgetRuns, part: Part) -> Comparison:
    difference = runs.compare(part.ours, part.other, part.metric)  # of all seeds: a study says beforehand how many
    return Comparison(part, _obstacle(runs, part, difference), difference)


def _obstacle(runs: BudgetRuns, part: Part, difference: Difference | None) -> str:
    """Return what keeps two ways from being judged, of OBSTACLES; empty for nothing."""
    if difference is None:
        return "not run"
    if unlike(runs.lines([*part.ours, *part.other])):
        return "code"
    if difference.lacks_seeds(SEEDS):
        return "seeds"
    return "rows" if difference.clusters < LEAST_CLUSTERS else ""


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
    parts = [
        Part(ours=ways[number], other=ways[best], metric=metric, margin=margin, expects="not lower")
        for number in others
    ]
    judged = judge(runs, parts)
    against_best = dict(zip(others, judged, strict=True))
    seeds = _fewest_seeds([comparison.difference for comparison in judged if comparison.difference])
    no_worse = [number for number in others if against_best[number].p.verdict is Verdict.HOLDS]
    kept = min([best, *no_worse], key=costs.__getitem__)
    cheaper = [number for number in others if costs[number] < costs[best]]
    undecided = [number for number in cheaper if against_best[number].p.verdict is not Verdict.FAILS]
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
