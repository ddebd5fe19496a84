"""Judge claims by the rule of docs/verdicts.md."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import pandas as pd

from mtbert.claims import sides
from mtbert.claims.budget_runs import BudgetRuns, are_unequal, mean_per_seed, tasks_of, unlike
from mtbert.claims.reading import Claim, Part
from mtbert.claims.rule import NOTHING, SEEDS, PValues, Standing, Verdict, claim_p, corrected, part_p, standing
from mtbert.results.columns import Frame
from mtbert.results.described import UNTRAINED
from mtbert.stats import LEAST_CLUSTERS, Difference


class Stability(StrEnum):
    """How a difference changes from a third of the budget to all of it."""

    STEADY = "steady"  # by the margin or less
    SHRINKING = "shrinking"
    GROWING = "growing"
    FLIPS = "flips"  # its sign changes, and it moves by more than the margin


class Reason(StrEnum):
    """What keeps a part, and so its claim, from being judged; the first that applies."""

    NOT_RUN = "not run"
    UNLIKE_RUNS = "unlike runs"
    UNDECLARED = "undeclared"  # the sides differ in a setting that the claim does not name
    CONFOUNDED = "confounded"  # they differ in one that it names as a confounder
    UNEQUAL_BUDGETS = "unequal budgets"
    ENCODER = "encoder"  # cannot be tested with this encoder: untrained, it is above both sides on STS
    FEW_CLUSTERS = "few clusters"
    FEW_SEEDS = "few seeds"
    FLIPS = "flips"


@dataclass(frozen=True)
class PartResult:
    """What the runs say of a part.

    Attributes:
        part: what it compares.
        reason: what keeps it from being judged; None for nothing.
        difference: ours - other, of the first seeds of each that the rule asks for; None where it was not run.
        third: the same at a third of the budget; None where that was not run.
        stability: from there to the whole; None without either.
        leak_free: the mean difference without rows that share a sentence with training; None where no row does.
        unlike: code and settings in which two sides have to agree, and do not.
        undeclared: settings in which they differ, and that the claim does not name.
        confounders: settings in which they differ, and that the claim names as confounders.
        p: not corrected; 1 where it is not judged.
    """

    part: Part
    reason: Reason | None = Reason.NOT_RUN
    difference: Difference | None = None
    third: Difference | None = None
    stability: Stability | None = None
    leak_free: float | None = None
    unlike: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    confounders: tuple[str, ...] = ()
    p: PValues = NOTHING

    @property
    def decides(self) -> bool:
        """Whether it counts for its claim."""
        return not self.confounders and not self.part.is_always_confounded

    @property
    def verdict(self) -> Verdict | None:
        """What is proved of this part alone; None where it is not judged."""
        return None if self.reason else self.p.verdict

    @property
    def standing(self) -> Standing:
        """What its interval says of ours against the other; open where it is not judged."""
        return Standing.OPEN if self.reason else standing(self.difference, self.part.margin)


@dataclass(frozen=True)
class ClaimResult:
    """What the runs say of a claim.

    Attributes:
        claim: as the file has it.
        verdict: None where a reason keeps it from having one.
        reason: why it has no verdict, from its deciding parts; None with a verdict.
        p: one-sided, corrected over its paper's claims.
        parts: one for each part of the claim.
    """

    claim: Claim
    verdict: Verdict | None
    reason: Reason | None
    p: PValues
    parts: tuple[PartResult, ...]


def judge(claims: Iterable[Claim], runs: BudgetRuns, third: BudgetRuns | None = None) -> list[ClaimResult]:
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
        reason = _first_reason(_deciding(parts)) if p.verdict is Verdict.TOO_CLOSE else None
        yield ClaimResult(claim, None if reason else p.verdict, reason, p, parts)


def _first_reason(parts: Sequence[PartResult]) -> Reason | None:
    """Return why one of these parts is not judged: the first reason in the order of `Reason`."""
    reasons = {part.reason for part in parts}
    return next((reason for reason in Reason if reason in reasons), None)


def _deciding(parts: Sequence[PartResult]) -> list[PartResult]:
    """Return the parts that decide on a claim; if a learning rate confounds every one of them, all of them."""
    may_decide = [part for part in parts if not part.part.is_always_confounded]
    return [part for part in may_decide if part.decides] or may_decide


def compare(part: Part, runs: BudgetRuns, third: BudgetRuns | None = None) -> PartResult:
    """Return what the runs say of a part alone."""
    ours, other, metric = part.ours, part.other, part.metric
    difference = runs.compare(ours, other, metric, SEEDS)
    if difference is None:
        return PartResult(part)
    at_third = None if third is None else third.compare(ours, other, metric, SEEDS)
    differing = sides.differences(runs.settings, ours, other)
    result = PartResult(
        part,
        difference=difference,
        third=at_third,
        stability=None if at_third is None else _stability(at_third.mean, difference.mean, part.margin),
        leak_free=_leak_free_mean(part, runs, difference.rows),
        unlike=unlike(pd.concat(_lines(part, runs))),
        undeclared=tuple(sorted(differing - {*part.differs, *part.confounded})),
        confounders=tuple(sorted(differing & {*part.confounded})),
    )
    reason = _reason(result, difference, runs)
    p = NOTHING
    if reason is None and difference.error is not None:
        p = part_p(part.expects, part.margin, part.published, difference)
    return replace(result, reason=reason, p=p)


def _leak_free_mean(part: Part, runs: BudgetRuns, rows: int) -> float | None:
    """Return the mean difference without rows that share a sentence with training; None if none of `rows` does."""
    leak_free = runs.compare(part.ours, part.other, part.metric, SEEDS, leak_free=True)
    return None if leak_free is None or leak_free.rows == rows else leak_free.mean


def _lines(part: Part, runs: BudgetRuns) -> list[Frame]:
    """Return the lines of the runs that are compared: those of ours, and those of the other."""
    return [runs.lines(row, runs.seeds(row, part.metric)[:SEEDS]) for row in (part.ours, part.other)]


def _reason(result: PartResult, difference: Difference, runs: BudgetRuns) -> Reason | None:
    """Return why a part that was compared is not judged: the first reason that applies."""
    reasons = {
        Reason.UNLIKE_RUNS: bool(result.unlike),
        Reason.UNDECLARED: bool(result.undeclared),
        Reason.CONFOUNDED: bool(result.confounders),
        Reason.UNEQUAL_BUDGETS: _has_unequal_budgets(result.part, runs),
        Reason.ENCODER: _is_below_untrained(result.part, runs),
        Reason.FEW_CLUSTERS: difference.clusters < LEAST_CLUSTERS,
        Reason.FEW_SEEDS: difference.lacks_seeds(SEEDS),
        Reason.FLIPS: result.stability is Stability.FLIPS,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _stability(third: float, whole: float, margin: float) -> Stability:
    """Return how a mean difference changes from a third of the budget to the whole."""
    if abs(whole - third) <= margin:
        return Stability.STEADY
    if third * whole < 0:
        return Stability.FLIPS
    return Stability.GROWING if abs(whole) > abs(third) else Stability.SHRINKING


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
