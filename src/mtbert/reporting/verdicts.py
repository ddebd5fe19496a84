"""Verdicts: each claim of the papers held against our runs.

A part that says higher (or lower) holds where the interval lies on that side of 0 and p, by Holm over all parts of its
paper's claims, is below 5 %; it does not hold where the interval excludes every difference that matters on that side.
One that says close holds where the interval lies within the smallest difference that matters, and does not where it
lies beyond. All else cannot be told, and so it is with a single seed, which does not see the noise of training. A claim
holds where all its parts do and fails with any; parts that are confounded are shown and decide nothing.
"""

from collections.abc import Iterable

from mtbert.reporting.claims import Answer, Claim, Comparison, Part, Verdict
from mtbert.reporting.comparisons import compare, corrected
from mtbert.reporting.evidence import Evidence
from mtbert.statistics.intervals import LEVEL

HOLDS: Answer = "holds"
FAILS: Answer = "does not hold"
OPEN: Answer = "cannot be told from these runs"
NOT_RUN: Answer = "not run"
Key = tuple[tuple[str, ...], tuple[str, ...], str]


def judge(evidence: Evidence, claims: Iterable[Claim]) -> list[Verdict]:
    """A verdict on every claim, in their order."""
    claims = list(claims)
    found: dict[tuple[str, Key], Comparison] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        keys = dict.fromkeys(_key(part) for claim in claims if claim.paper == paper for part in claim.parts)
        made = {key: comparison for key in keys if (comparison := compare(evidence, *key)) is not None}
        found |= {(paper, key): one for key, one in zip(made, corrected(list(made.values())), strict=True)}
    return [
        _verdict(claim, [found.get((claim.paper, _key(part))) for part in claim.parts], evidence) for claim in claims
    ]


def _key(part: Part) -> Key:
    return part.ours, part.other, part.metric


def answer(part: Part, found: Comparison | None) -> Answer:
    """What a comparison says of a part."""
    if found is None:
        return NOT_RUN
    if found.seeds < 2:
        return OPEN
    if part.expects == "close":
        within = -part.matters < found.low and found.high < part.matters
        return HOLDS if within else FAILS if found.low > part.matters or found.high < -part.matters else OPEN
    low, high = (found.low, found.high) if part.expects == "higher" else (-found.high, -found.low)
    return HOLDS if low > 0 and found.corrected < LEVEL else FAILS if high < part.matters else OPEN


def _verdict(claim: Claim, found: list[Comparison | None], evidence: Evidence) -> Verdict:
    answers: tuple[Answer, ...] = tuple(answer(part, one) for part, one in zip(claim.parts, found, strict=True))
    deciding = [at for at, part in enumerate(claim.parts) if not part.confounded]
    said = [answers[at] for at in deciding]
    if FAILS in said:
        overall = FAILS
    elif set(said) == {HOLDS}:
        overall = HOLDS
    else:
        overall = NOT_RUN if set(said) <= {NOT_RUN} else OPEN
    return Verdict(claim, overall, _why(claim, overall, answers, found, deciding, evidence), answers, tuple(found))


def _why(
    claim: Claim, overall: Answer, answers: tuple[Answer, ...], found: list[Comparison | None], deciding: list[int],
    evidence: Evidence,
) -> str:  # fmt: skip
    """A sentence or a few, for people."""
    counts = {said: sum(answers[at] == said for at in deciding) for said in (HOLDS, FAILS, OPEN)}
    number = len(deciding)
    said = []
    if overall == HOLDS:
        said.append("Its comparison holds." if number == 1 else f"All {number} comparisons hold.")
    if overall == FAILS:
        said.append("Its comparison does not hold." if number == 1 else f"{counts[FAILS]} of {number} do not hold.")
    if overall == OPEN and number > 1:
        said.append(f"{counts[HOLDS]} of {number} comparisons hold, none is refuted.")
    open_ones = [found[at] for at in deciding if answers[at] == OPEN]
    if overall == OPEN and any(one is not None and one.seeds == 1 for one in open_ones):
        said.append("One seed each: the noise of training is not seen.")
    wide = [one.detectable for one in open_ones if one is not None and one.seeds > 1]
    if overall == OPEN and wide:
        said.append(f"These runs would have found a difference of {max(wide):.3f}.")
    missing = _missing(claim, [at for at in deciding if answers[at] == NOT_RUN], evidence)
    if missing and overall in (OPEN, NOT_RUN):
        said.append(f"Not run: {', '.join(missing)}.")
    confounded = [part for part in claim.parts if part.confounded]
    if confounded:
        also = ", ".join(dict.fromkeys(name for part in confounded for name in part.confounded.split(", ")))
        said.append(f"Not counted, as the two differ in {also} besides: {len(confounded)}.")
    return " ".join(said)


def _missing(claim: Claim, parts: list[int], evidence: Evidence) -> list[str]:
    """The variants of these parts that have no scores; those that have, but no seed together, as pairs."""
    names: list[str] = []
    for part in (claim.parts[at] for at in parts):
        for side in (part.ours, part.other):
            names += side if not evidence.seeds(side, part.metric) else []
        if all(evidence.seeds(side, part.metric) for side in (part.ours, part.other)):
            names.append(f"{' '.join(part.ours)} and {' '.join(part.other)} with the same seed")
    return list(dict.fromkeys(names))
