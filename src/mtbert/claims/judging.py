"""Judge claims by the rule of docs/verdicts.md."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from mtbert.claims import sides
from mtbert.claims.evidence import UNEQUAL, Evidence, a_seed, tasks_of, unlike
from mtbert.claims.reading import Claim, Part
from mtbert.claims.rule import NOTHING, SEEDS, PValues, Verdict, claim_p, corrected, part_p
from mtbert.results.tables import UNTRAINED, Frame
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
        unlike: in what the two sides were made otherwise.
        undeclared: settings in which they differ, and that the claim does not name.
        confounders: settings in which they differ, and that the claim names as confounders.
        p: its own, not corrected; 1 where it is not judged.
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
        """What is proved of the part by itself; None where it is not judged."""
        return None if self.reason else self.p.verdict


@dataclass(frozen=True)
class ClaimResult:
    """What the runs say of a claim.

    Attributes:
        claim: as the file has it.
        verdict: None where a reason keeps it from having one.
        reason: the first of its deciding parts' that applies; None with a verdict.
        p: one-sided, corrected over its paper's claims.
        parts: one for each part of the claim.
    """

    claim: Claim
    verdict: Verdict | None
    reason: Reason | None
    p: PValues
    parts: tuple[PartResult, ...]


def judge(claims: Iterable[Claim], evidence: Evidence, third: Evidence | None = None) -> list[ClaimResult]:
    """Judge each claim, in their order; the family of a claim is its paper's claims among those given.

    Args:
        claims: of the claims file.
        evidence: the runs of the whole budget.
        third: those of a third of it; None where there are none.
    """
    claims = list(claims)
    found: dict[str, ClaimResult] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        family = [claim for claim in claims if claim.paper == paper]
        seen = [tuple(see(part, evidence, third) for part in claim.parts) for claim in family]
        found |= {result.claim.name: result for result in _family(family, seen)}
    return [found[claim.name] for claim in claims]


def _family(family: Sequence[Claim], seen: Sequence[tuple[PartResult, ...]]) -> Iterator[ClaimResult]:
    deciding = [_deciding(parts) for parts in seen]
    every = corrected([claim_p([part.p for part in parts]) for parts in deciding])
    for claim, parts, own, p in zip(family, seen, deciding, every, strict=True):
        reason = _first_reason(own) if p.verdict is Verdict.TOO_CLOSE else None
        yield ClaimResult(claim, None if reason else p.verdict, reason, p, parts)


def _first_reason(parts: Sequence[PartResult]) -> Reason | None:
    """Return what keeps one of these parts from being judged; the first in the order of `Reason`."""
    reasons = {part.reason for part in parts}
    return next((reason for reason in Reason if reason in reasons), None)


def _deciding(parts: Sequence[PartResult]) -> list[PartResult]:
    """Return the parts that decide on a claim; where a learning rate confounds each of them, all that it does."""
    able = [part for part in parts if not part.part.is_always_confounded]
    return [part for part in able if part.decides] or able


def see(part: Part, evidence: Evidence, third: Evidence | None = None) -> PartResult:
    """Return what the runs say of a part by itself."""
    ours, other, metric = part.ours, part.other, part.metric
    found = evidence.compare(ours, other, metric, SEEDS)
    if found is None:
        return PartResult(part)
    before = None if third is None else third.compare(ours, other, metric, SEEDS)
    moved = None if before is None else _stability(before.mean, found.mean, part.margin)
    rows = [evidence.lines(row, evidence.seeds(row, metric)[:SEEDS]) for row in (ours, other)]
    both = pd.concat(rows)
    made = unlike(both)
    found_to_differ = sides.differences(evidence.settings, ours, other)
    undeclared = tuple(sorted(found_to_differ - {*part.differs, *part.confounded}))
    confounders = tuple(sorted(found_to_differ & {*part.confounded}))
    above = [evidence.compare(row, (UNTRAINED,), "sts") for row in (ours, other) if part.of_similarity]
    clean = evidence.compare(ours, other, metric, SEEDS, leak_free=True)
    leak_free = None if clean is None or clean.rows == found.rows else clean.mean
    applies = {
        Reason.UNLIKE_RUNS: bool(made),
        Reason.UNDECLARED: bool(undeclared),
        Reason.CONFOUNDED: bool(confounders),
        Reason.UNEQUAL_BUDGETS: all(map(len, rows)) and _unequal(rows, tasks_of(metric), part.differs),
        Reason.ENCODER: part.of_similarity and all(one is not None and one.mean < 0 for one in above),
        Reason.FEW_CLUSTERS: found.clusters < LEAST_CLUSTERS,
        Reason.FEW_SEEDS: min(found.seeds) < SEEDS,
        Reason.FLIPS: moved is Stability.FLIPS,
    }
    reason = next((reason for reason, does in applies.items() if does), None)
    p = NOTHING
    if reason is None and found.error is not None:
        p = part_p(part.expects, part.margin, part.published, found)
    return PartResult(part, reason, found, before, moved, leak_free, made, undeclared, confounders, p)


def _stability(third: float, whole: float, margin: float) -> Stability:
    if abs(whole - third) <= margin:
        return Stability.STEADY
    if third * whole < 0:
        return Stability.FLIPS
    return Stability.GROWING if abs(whole) > abs(third) else Stability.SHRINKING


def _unequal(rows: Sequence[Frame], tasks: Sequence[str], differs: Collection[str]) -> bool:
    """Whether two rows trained unequally long on what the claim does not let them differ in."""
    columns = [] if "updates" in differs else ["steps"]
    columns += [] if "examples" in differs else [f"examples_{task}" for task in tasks]
    totals = [[a_seed(row, name) for row in rows] for name in columns]
    return any(abs(a - b) > UNEQUAL * max(a, b) for a, b in totals)
