"""Which way to keep: the cheapest that is proved to be no worse than the best by what matters.

The rule is that of docs/verdicts.md: one look at all seeds, at least six, one-sided p, corrected by Holm over all ways.
A way without seeds, such as a baseline, is asked for none; two of them are compared by rows alone.
The best is the way with the highest mean. Since it is chosen by its scores, others look worse beside it than they are:
that makes "no worse" harder to prove, and never easier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtbert.judge.budget_runs import BudgetRuns, code_mismatches
from mtbert.judge.rows import Row
from mtbert.judge.rule import SEEDS, Comparison, Part, Verdict, corrected, missing_data, with_p
from mtbert.stats import Estimate
from mtbert.stats.power import Needed, needed


@dataclass(frozen=True)
class Choice:
    """What to keep, by the numbers of the ways.

    Attributes:
        kept: the cheapest way that is proved to be no worse than the best; the best itself, if it may be kept and every
            cheaper way is proved to be worse. None if neither is proved, or if there are fewer than SEEDS seeds.
        runner_up: if nothing is kept, the best of the ways that are cheaper and may be no worse; if the best may not be
            kept, the best of those that may. None if there are none.
        against: the runner-up less the best.
        seeds: the fewest seeds that a way has, of those that have seeds; None if none has, 0 if nothing was compared.
        needed: what would decide whether the runner-up is no worse; None where there is none, or nobody knows.
    """

    kept: Row | None
    runner_up: Row | None = None
    against: Comparison | None = None
    seeds: int | None = None
    needed: Needed | None = None

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
    if difference is None:
        return Comparison(part)
    of_code = code_mismatches(runs.lines([*part.ours, *part.other]))
    return Comparison(part, difference, {"code": of_code} if of_code else {}, missing_data(difference))


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
    what_decides = None
    if against.difference is not None:
        what_decides = needed(against.difference, against.part.margin, SEEDS, comparisons)
    return Choice(None, runner_up, against, seeds, what_decides)


def _cost(way: Row) -> float:
    """Return the weights that have to be kept of a way."""
    return way.weights["stored"]


def _fewest_seeds(differences: Sequence[Estimate]) -> int | None:
    """Return the fewest seeds of a side that has seeds; None where no side has, 0 where nothing was compared."""
    counts = [difference.fewest_seeds for difference in differences if difference.fewest_seeds is not None]
    return min(counts, default=None if differences else 0)
