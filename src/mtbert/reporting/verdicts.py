"""Verdicts: each claim of the papers held against our runs, by the rule of `mtbert.statistics.verdicts`.

The family over which p is corrected is fixed by the claims file: all of a paper's claims that have a part which can
decide. A part whose runs are not there, cannot be compared, or do not pass the gate has a p of 1. Parts that are
confounded, and seeds that reach no look, are shown and decide nothing. docs/verdicts.md is for readers.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mtbert.reporting import reasons
from mtbert.reporting.answers import FAILS, GATES, HOLDS, LITTLE, NOT_RUN, OPEN, Ruling
from mtbert.reporting.claims import Answer, Claim, Comparison, Part, Verdict
from mtbert.reporting.evidence import Evidence
from mtbert.reporting.seen import Seen, see
from mtbert.statistics import seeds as over_seeds
from mtbert.statistics.verdicts import LOOKS, PLANNED, Decision, PartP, decide, refuting


def judge(evidence: Evidence, claims: Iterable[Claim]) -> list[Verdict]:
    """A verdict on every claim, in their order."""
    claims = [_as_run(evidence, claim) for claim in claims]
    found: dict[str, Verdict] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        family = [claim for claim in claims if claim.paper == paper]
        seen = {claim.name: [see(evidence, part) for part in claim.parts] for claim in family}
        for claim, verdict in zip(family, _family(evidence, family, seen), strict=True):
            found[claim.name] = verdict
    return [found[claim.name] for claim in claims]


def _as_run(evidence: Evidence, claim: Claim) -> Claim:
    """The claim with those of its confounded settings that differ in the runs; all of them where none does."""
    parts = []
    for part in claim.parts:
        names = evidence.conducts.differing(part.confounded, part.ours, part.other) or part.confounded
        parts.append(part.model_copy(update={"confounded": names}))
    return claim.model_copy(update={"parts": tuple(parts)})


def decidable(claim: Claim) -> Claim:
    """The claim with the parts that decide on it."""
    return claim.model_copy(update={"parts": tuple(part for part in claim.parts if not part.confounded)})


def _family(evidence: Evidence, family: Sequence[Claim], seen: dict[str, list[Seen]]) -> list[Verdict]:
    """The verdicts on a paper's claims."""
    deciding = {c.name: [at for at, part in enumerate(c.parts) if not part.confounded] for c in family}
    judged = [claim for claim in family if deciding[claim.name]]
    parts = [seen[claim.name][at] for claim in judged for at in deciding[claim.name]]
    ends = np.cumsum([0, *(len(deciding[claim.name]) for claim in judged)])
    places = [list(range(start, end)) for start, end in itertools.pairwise(ends)]
    made = _decide(parts, places) if judged else None
    verdicts = []
    for claim in family:
        at = judged.index(claim) if claim in judged else -1
        decision = None if at < 0 else made
        level, count = LOOKS[PLANNED] / max(1, len(judged)), max(1, len(deciding[claim.name]))
        of = deciding[claim.name]
        ruling = _ruling(decision, at, [(one, seen[claim.name][one].p) for one in of])
        looks = [look for one in of if (look := seen[claim.name][one].look) is not None]
        told = ruling.look or min(looks, default=0)
        shown = [
            _shown(one, decision, at, _found(part, one.comparison, level, count), told)
            for part, one in zip(claim.parts, seen[claim.name], strict=True)
        ]
        verdicts.append(_verdict(evidence, claim, seen[claim.name], shown, ruling, told))
    return verdicts


def _verdict(
    evidence: Evidence, claim: Claim, seen: Sequence[Seen], shown: Sequence[Comparison | None], ruling: Ruling,
    told: int,
) -> Verdict:  # fmt: skip
    """The verdict in words: of a claim that is open also why, and of one that is decided by which comparison."""
    answers: list[Answer] = [_alone(one) for one in seen]
    counts = [at for at, part in enumerate(claim.parts) if not part.confounded]
    answer = _why_open([seen[at].gate or answers[at] for at in counts]) if ruling.answer == OPEN else ruling.answer
    implied = reasons.implied([(claim.parts[at], seen[at].budgets) for at in counts])
    beside = " ".join([*implied, *reasons.on_machines([seen[at].machines for at in counts])])
    why = reasons.why(evidence, claim, replace(ruling, answer=answer), answers, shown, seen, told)
    gates = tuple("; ".join(one.why) for one in seen)
    return Verdict(
        claim, answer, f"{why} {beside}".strip(), tuple(answers), tuple(shown), gates, ruling.look, ruling.parts, beside
    )


def _ruling(made: Decision | None, at: int, parts: Sequence[tuple[int, PartP]]) -> Ruling:
    """What is proved of a claim, from the p of those of its parts that count."""
    answer = OPEN if made is None else _answer(made, at)
    if made is not None and made.holds[at] and made.fails[at]:
        looks = list(LOOKS)
        return Ruling(OPEN, both=(looks[_first(made.p_holds, at)], looks[_first(made.p_fails, at)]))
    if made is None or answer == OPEN:
        return Ruling(OPEN)
    holding, of = _first(made.p_holds, at), {HOLDS: made.p_holds, FAILS: made.p_fails, LITTLE: made.p_little}[answer]
    look = _first(of, at)
    if answer == HOLDS:
        weakest, _ = max(parts, key=lambda one: one[1].holds[look])
        return Ruling(answer, list(LOOKS)[look], (weakest,))
    own = {one: float((refuting(p.holds, p.fails) if answer == FAILS else p.little)[look]) for one, p in parts}
    proving = _proving(own, float(of[look][at]), list(LOOKS.values())[look])
    return Ruling(answer, list(LOOKS)[max(look, holding) if answer == LITTLE else look], proving)


def _first(p: np.ndarray, at: int) -> int:
    """The first look by which a claim is proved; the last where none is."""
    return next((look for look, level in enumerate(LOOKS.values()) if p[look][at] <= level), len(LOOKS) - 1)


def _proving(own: Mapping[int, float], corrected: float, level: float) -> tuple[int, ...]:
    """The parts whose p stays within the level when corrected as the smallest one is, that one first."""
    smallest = min(own.values())
    ranked = sorted(own, key=lambda one: own[one])
    return tuple(one for one in ranked if own[one] == smallest or 0 < own[one] * corrected <= level * smallest)


def _decide(parts: Sequence[Seen], places: Sequence[Sequence[int]]) -> Decision:
    of = (np.array([getattr(part.p, name) for part in parts]).T for name in ("holds", "fails", "little"))
    return decide(PartP(*of), places, list(LOOKS.values()))


def _answer(made: Decision, at: int) -> Answer:
    """What is proved of a claim; that it holds and fails at once, at two looks, tells nothing."""
    holds, fails = made.holds[at], made.fails[at]
    if holds == fails:
        return OPEN
    return FAILS if fails else LITTLE if made.little[at] else HOLDS


def _alone(one: Seen) -> Answer:
    """What a part comes to by itself, not corrected; what was proved at a look stays, even if its gate closes later."""
    if one.comparison is None:
        return one.gate or NOT_RUN
    answer = _answer(_decide([one], [[0]]), 0)
    return one.gate if one.gate and answer == OPEN else answer


def _shown(one: Seen, made: Decision | None, at: int, detectable: float | None, told: int) -> Comparison | None:
    """A part's comparison with the p by which its claim is judged, at the look `told`; without a p before the first.

    That is the look which decided the claim, else the last that all of its comparisons have reached.
    """
    found = one.comparison
    if found is None:
        return None
    if one.look is None or told not in LOOKS:
        return replace(found, p=np.nan, corrected=np.nan, detectable=detectable)
    look = list(LOOKS).index(told)
    whole = (1.0, 1.0) if made is None else (float(made.p_holds[look][at]), float(made.p_fails[look][at]))
    return replace(found, p=float(one.p.holds[look]), corrected=whole[0], refuted=whole[1], detectable=detectable)


def _found(part: Part, one: Comparison | None, level: float, parts: int) -> float | None:
    """The smallest true difference that the rule finds with the planned seeds in four of five repetitions.

    Where a part says that there is none, the smallest with which it is told not to hold. None of one seed, whose noise
    is not known.

    Args:
        level: of the last look, corrected over the paper's claims; parts: how many the claim has, any of which refutes.
    """
    if one is None or one.seed_sd is None:
        return None
    if part.expects in ("close", "not higher"):
        sides = 2 if part.expects == "close" else 1
        return over_seeds.beyond(one.seed_sd, one.example_sd, PLANNED, level / parts, part.matters, sides)
    return over_seeds.promised(one.seed_sd, one.example_sd, PLANNED, level)


def _why_open(answers: Sequence[Answer]) -> Answer:
    """Why a claim cannot be told: what keeps one of its parts from being judged, or that nothing was run.

    Args:
        answers: of each part its gate at the last look, also of one that an earlier look decided alone; else its own.
    """
    gates: list[Answer] = [gate for gate in GATES if gate in answers]
    return gates[0] if gates else NOT_RUN if set(answers) <= {NOT_RUN} else OPEN
