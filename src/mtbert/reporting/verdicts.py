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
NAMED = 4  # variants in a sentence
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
    return " ".join(
        [
            *_counted(overall, [answers[at] for at in deciding]),
            *(_doubts([found[at] for at in deciding if answers[at] == OPEN]) if overall == OPEN else []),
            *_missing(evidence, [part for part, said in zip(claim.parts, answers, strict=True) if said == NOT_RUN]),
            *_besides(
                [part for part, one in zip(claim.parts, found, strict=True) if part.confounded and one is not None]
            ),
        ]
    )


def _counted(overall: Answer, said: list[Answer]) -> list[str]:
    number = len(said)
    if overall == HOLDS:
        return ["Its comparison holds." if number == 1 else f"All {number} comparisons hold."]
    if overall == FAILS:
        return ["Its comparison does not hold." if number == 1 else f"{said.count(FAILS)} of {number} do not hold."]
    return (
        [f"{said.count(HOLDS)} of {number} comparisons hold, none is refuted."]
        if overall == OPEN and number > 1
        else []
    )


def _doubts(found: list[Comparison | None]) -> list[str]:
    """Why what was run does not tell."""
    run = [one for one in found if one is not None]
    wide = [one.detectable for one in run if one.seeds > 1]
    single = ["One seed each: the noise of training is not seen."] if len(wide) < len(run) else []
    return single + ([f"These runs would have found a difference of {max(wide):.3f}."] if wide else [])


def _missing(evidence: Evidence, parts: list[Part]) -> list[str]:
    """The variants of parts that were not run; where both sides were, that they share no seed."""
    names: list[str] = []
    for part in parts:
        absent = [name for side in (part.ours, part.other) if not evidence.seeds(side, part.metric) for name in side]
        names += absent or [f"{' '.join(part.ours)} and {' '.join(part.other)} with the same seed"]
    names = list(dict.fromkeys(names))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return [f"Not run: {', '.join(names[:NAMED])}{more}."] if names else []


def _besides(parts: list[Part]) -> list[str]:
    names = ", ".join(dict.fromkeys(name for part in parts for name in part.confounded))
    return [f"Shown but not counted, as they differ in {names} besides: {len(parts)}."] if parts else []
