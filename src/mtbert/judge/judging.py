"""Judge claims by the rule of docs/verdicts.md."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from mtbert.judge import sides
from mtbert.judge.budget_runs import BudgetRuns, are_unequal, mean_per_seed, tasks_of, unlike
from mtbert.judge.reading import Claim, Part
from mtbert.judge.rule import NOTHING, SEEDS, PValues, Verdict, claim_p, corrected, part_p, sign
from mtbert.scores.columns import Frame
from mtbert.scores.described import UNTRAINED
from mtbert.stats import LEAST_CLUSTERS, Difference
from mtbert.stats.power import Needed

OBSTACLES = {  # by what keeps a comparison from being judged, the first that applies: what is said instead
    "not run": Verdict.NOT_RUN,
    "code": Verdict.NOT_COMPARABLE,  # or another of `ALIKE`
    "settings": Verdict.NOT_COMPARABLE,  # that the claim does not name
    "confounders": Verdict.NOT_COMPARABLE,  # settings that it names as such
    "budgets": Verdict.NOT_COMPARABLE,
    "encoder": Verdict.OPEN,  # untrained, it is above both sides on STS
    "rows": Verdict.OPEN,  # fewer than LEAST_CLUSTERS clusters of them
    "seeds": Verdict.OPEN,  # fewer than SEEDS
    "flip": Verdict.OPEN,  # from a third of the budget to all of it the sign changes, by more than the margin
    "parts": Verdict.OPEN,  # of several comparisons of a claim some leave out 0, and not all are proved
}


@dataclass(frozen=True)
class Comparison:
    """What the runs say of one comparison.

    Attributes:
        part: what is compared.
        obstacle: what keeps it from being judged, of OBSTACLES; empty for nothing.
        difference: ours - other; None where it was not run.
        third: the mean difference at a third of the budget; None where that was not run.
        leak_free: the mean difference without rows that share a sentence with training; None where no row does.
        unlike: code and settings in which two sides have to agree, and do not.
        undeclared: settings in which they differ, and that the claim does not name.
        confounders: settings in which they differ, and that the claim names as confounders.
        p: of what the part expects; 1 where it is not judged. Of ways it is corrected over all of them.
        needed: what would decide whether ours is no worse; None where nobody asks or knows.
        scores: of ours and of the other, each by itself; None where nobody asks.
    """

    part: Part
    obstacle: str = "not run"
    difference: Difference | None = None
    third: float | None = None
    leak_free: float | None = None
    unlike: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    confounders: tuple[str, ...] = ()
    p: PValues = NOTHING
    needed: Needed | None = None
    scores: tuple[Difference, Difference] | None = None

    @property
    def decides(self) -> bool:
        """Whether it counts for its claim."""
        return not self.confounders and not self.part.is_always_confounded

    @property
    def verdict(self) -> Verdict:
        """What is proved of what the part expects, else which side is better, or why it is not judged."""
        if self.obstacle:
            return OBSTACLES[self.obstacle]
        return sign(self.difference) if self.p.verdict is Verdict.TOO_CLOSE else self.p.verdict

    @property
    def standing(self) -> Verdict:
        """How ours stands to the other where the part expects the two to be close: CLOSE, BETTER, WORSE, TOO_CLOSE."""
        if self.obstacle:
            return OBSTACLES[self.obstacle]
        return Verdict.CLOSE if self.p.verdict is Verdict.HOLDS else sign(self.difference)

    @property
    def is_size_open(self) -> bool:
        """Whether one side is better, and is not proved to be so by the margin."""
        return self.standing in (Verdict.BETTER, Verdict.WORSE) and self.p.verdict is not Verdict.FAILS

    @property
    def flips(self) -> bool:
        """Whether its sign changes from a third of the budget to all of it, by more than the margin."""
        if self.third is None or self.difference is None:
            return False
        whole = self.difference.mean
        return self.third * whole < 0 and abs(whole - self.third) > self.part.margin


@dataclass(frozen=True)
class ClaimResult:
    """What the runs say of a claim.

    Attributes:
        claim: as the file has it.
        verdict: what is proved of it, else which side of its only deciding part is better, or why it is not judged.
        obstacle: what keeps its deciding parts from being judged, of OBSTACLES; empty for nothing.
        p: one-sided, corrected over its paper's claims.
        parts: one for each part of the claim.
    """

    claim: Claim
    verdict: Verdict
    obstacle: str
    p: PValues
    parts: tuple[Comparison, ...]


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
    parts_by_claim = [tuple(compare(part, runs, third) for part in claim.parts) for claim in family]
    uncorrected = [claim_p([part.p for part in _deciding(parts)]) for parts in parts_by_claim]
    for claim, parts, p in zip(family, parts_by_claim, corrected(uncorrected), strict=True):
        obstacle = _first_obstacle(_deciding(parts)) if p.verdict is Verdict.TOO_CLOSE else ""
        verdict = OBSTACLES[obstacle] if obstacle else p.verdict
        if verdict is Verdict.TOO_CLOSE:
            verdict = sign(_deciding(parts)[0].difference)  # of several parts all are too close
        yield ClaimResult(claim, verdict, obstacle, p, parts)


def _first_obstacle(parts: Sequence[Comparison]) -> str:
    """Return what keeps these parts from deciding, the first in the order of OBSTACLES; empty for nothing."""
    obstacles = {part.obstacle for part in parts}
    first = next((obstacle for obstacle in OBSTACLES if obstacle in obstacles), "")
    are_all_too_close = all(sign(part.difference) is Verdict.TOO_CLOSE for part in parts)
    return first if first or are_all_too_close or len(parts) == 1 else "parts"


def _deciding(parts: Sequence[Comparison]) -> list[Comparison]:
    """Return the parts that decide on a claim; if a learning rate confounds every one of them, all of them."""
    may_decide = [part for part in parts if not part.part.is_always_confounded]
    return [part for part in may_decide if part.decides] or may_decide


def compare(part: Part, runs: BudgetRuns, third: BudgetRuns | None = None) -> Comparison:
    """Return what the runs say of a part alone, by the first seeds of each side that the rule asks for."""
    ours, other, metric = part.ours, part.other, part.metric
    difference = runs.compare(ours, other, metric, SEEDS)
    if difference is None:
        return Comparison(part)
    differing = sides.differences(runs.settings, ours, other)
    before = None if third is None else third.compare(ours, other, metric, SEEDS)
    result = Comparison(
        part,
        difference=difference,
        third=None if before is None else before.mean,
        leak_free=_leak_free_mean(part, runs, difference.rows),
        unlike=unlike(pd.concat(_lines(part, runs))),
        undeclared=tuple(sorted(differing - {*part.differs, *part.confounded})),
        confounders=tuple(sorted(differing & {*part.confounded})),
    )
    return with_p(replace(result, obstacle=_obstacle(result, difference, runs)))


def with_p(comparison: Comparison) -> Comparison:
    """Return the comparison with the p of what its part expects, not corrected; 1 where it is not judged."""
    part, difference = comparison.part, comparison.difference
    if comparison.obstacle or difference is None or difference.error is None:
        return replace(comparison, p=NOTHING)
    return replace(comparison, p=part_p(part.expects, part.margin, part.published, difference))


def _leak_free_mean(part: Part, runs: BudgetRuns, rows: int) -> float | None:
    """Return the mean difference without rows that share a sentence with training; None if none of `rows` does."""
    leak_free = runs.compare(part.ours, part.other, part.metric, SEEDS, leak_free=True)
    return None if leak_free is None or leak_free.rows == rows else leak_free.mean


def _lines(part: Part, runs: BudgetRuns) -> list[Frame]:
    """Return the lines of the runs that are compared: those of ours, and those of the other."""
    return [runs.lines(row, runs.seeds(row, part.metric)[:SEEDS]) for row in (part.ours, part.other)]


def _obstacle(result: Comparison, difference: Difference, runs: BudgetRuns) -> str:
    """Return what keeps a part that was compared from being judged, the first of OBSTACLES; empty for nothing."""
    applies = {
        "code": bool(result.unlike),
        "settings": bool(result.undeclared),
        "confounders": bool(result.confounders),
        "budgets": _has_unequal_budgets(result.part, runs),
        "encoder": _is_below_untrained(result.part, runs),
        "rows": difference.clusters < LEAST_CLUSTERS,
        "seeds": difference.lacks_seeds(SEEDS),
        "flip": result.flips,
    }
    return next((obstacle for obstacle, is_there in applies.items() if is_there), "")


def _has_unequal_budgets(part: Part, runs: BudgetRuns) -> bool:
    """Return whether the sides trained on unequal numbers of steps or examples that the claim does not let differ."""
    ours, other = _lines(part, runs)
    if not len(ours) or not len(other):
        return False
    columns: list[str] = []
    if "updates" not in part.differs:
        columns.append("steps")
    if "examples" not in part.differs:
        columns += [f"examples_{task}" for task in tasks_of(part.metric, runs.tasks)]
    return any(are_unequal(mean_per_seed(ours, column), mean_per_seed(other, column)) for column in columns)


def _is_below_untrained(part: Part, runs: BudgetRuns) -> bool:
    """Return whether a part is about similarity, and the untrained encoder is above both sides on STS."""
    if not part.is_about_similarity:
        return False
    gains = [runs.compare(row, (UNTRAINED,), "sts") for row in (part.ours, part.other)]
    return all(gain is not None and gain.mean < 0 for gain in gains)
