"""Verdicts: each claim of the papers held against our runs, by the rule of `mtbert.statistics.verdicts`.

The family over which p is corrected is fixed by the claims file: all of a paper's claims that have a part which can
decide. A part whose runs are not there, cannot be compared, or do not pass the gate has a p of 1. Parts that are
confounded, and seeds that reach no look, are shown and decide nothing. docs/verdicts.md is for readers.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mtbert.errors import first_of
from mtbert.reporting import figures
from mtbert.reporting.claims import OVERFITTING, Answer, Claim, Comparison, Part, Verdict
from mtbert.reporting.comparisons import between, refused, shared_seeds
from mtbert.reporting.evidence import Evidence, tasks_of
from mtbert.reporting.markdown import MINUS
from mtbert.statistics import seeds as over_seeds
from mtbert.statistics.verdicts import (
    LOOKS,
    PLANNED,
    Decision,
    P,
    PartP,
    close,
    decide,
    not_higher,
    one_sided,
    refuting,
)

HOLDS: Answer = "holds"
LITTLE: Answer = "real, but smaller than what matters"
FAILS: Answer = "does not hold"
OPEN: Answer = "cannot be told from these runs"
FAULTY: Answer = "cannot be told: trained by faulty code"
LEARNING: Answer = "cannot be told: still learning"
WORSE: Answer = "cannot be told: training made a task worse"
UNEQUAL: Answer = "cannot be told: unequal budgets"
UNLIKE: Answer = "cannot be compared"
NOT_RUN: Answer = "not run"
GATES: tuple[Answer, ...] = (UNLIKE, FAULTY, LEARNING, WORSE, UNEQUAL)
PROVED: tuple[Answer, ...] = (HOLDS, LITTLE, FAILS)
NAMED = 4  # variants in a sentence
NO = PartP(*[np.ones(())] * 3)  # at one look: nothing is proved
NOTHING = PartP(*[np.ones(len(LOOKS))] * 3)


@dataclass(frozen=True)
class Seen:
    """What our runs show of a part.

    Attributes:
        comparison: at the last look that the runs have reached, or of fewer seeds; None where nothing can be compared.
        look: the number of seeds of that look; None where none was reached.
        p: at each look; 1 where it was not reached, or the part is not to be judged.
        gate, why: what keeps it from being judged at the last look, and all reasons in words.
        budgets: what the sides had unequally much of, as the claim implies.
        left_out: the seeds that both sides have and that cannot be compared, and why, in words.
        machines: where the two sides were trained, in words, if not on the same machine.
    """

    comparison: Comparison | None
    look: int | None = None
    p: PartP = field(default_factory=lambda: NOTHING)
    gate: Answer | None = None
    why: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    left_out: str = ""
    machines: str = ""


@dataclass(frozen=True)
class Ruling:
    """What is proved of a claim.

    Attributes:
        answer: OPEN where nothing is.
        look: the number of seeds of the look that proved it; None where it is open.
        parts: those that prove it, from 0, by their p; of a claim that holds, where all have to, that with the largest.
    """

    answer: Answer
    look: int | None = None
    parts: tuple[int, ...] = ()


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


def part_p(part: Part, at_most: P, at_least: P) -> PartP:
    """The one-sided p of a part, from those of the true difference being at most, and at least, a bound."""
    if part.expects == "close":
        return close(at_most, at_least, part.matters)
    if part.expects == "not higher":
        return not_higher(at_most, at_least, part.matters)
    if part.expects == "higher":
        return one_sided(at_most, at_least, part.matters, part.published)
    announced = None if part.published is None else -part.published
    return one_sided(lambda bound: at_least(-bound), lambda bound: at_most(-bound), part.matters, announced)


def see(evidence: Evidence, part: Part) -> Seen:
    """What our runs show of a part, at every look that they have reached."""
    of = part.ours, part.other, part.metric
    seeds, unlike = shared_seeds(evidence, *of), refused(evidence, *of)
    words = ", ".join(dict.fromkeys(word for said in unlike.values() for word in said))
    if not seeds:
        return Seen(None, gate=UNLIKE, why=(f"made with other {words}",)) if unlike else Seen(None)
    left_out = f"{', '.join(map(str, unlike))} (made with other {words})" if unlike else ""
    looks = reached(evidence.planned, seeds)
    machines = evidence.conducts.machines(part.ours, part.other, looks[-1] if looks else seeds)
    if not looks:
        return Seen(between(evidence, *of, seeds)[0], left_out=left_out, machines=machines)
    at_looks = [_look(evidence, part, first) for first in looks]
    comparison, _, gate, why = at_looks[-1]
    budgets = evidence.conducts.unequal(part.ours, part.other, looks[-1], tasks_of(part.metric), ())
    implied = tuple(one for one in budgets if one not in why)
    p = _at_looks([p for _, p, *_ in at_looks])
    return Seen(comparison, len(looks[-1]), p, gate, why, implied, left_out, machines)


def reached(planned: Sequence[int], shared: Sequence[int]) -> list[list[int]]:
    """The seeds of each look that was reached: the first so many that are planned, all of which both sides have.

    So a seed that comes late adds a look, and changes none that was taken.
    """
    firsts = [sorted(planned[:count]) for count in LOOKS if count <= len(planned)]
    return [first for first in firsts if set(first) <= set(shared)]


def _look(
    evidence: Evidence, part: Part, seeds: Sequence[int]
) -> tuple[Comparison, PartP, Answer | None, tuple[str, ...]]:
    """A part at a look: what is compared, its p (1 behind a gate), and the gate that is closed, with its reasons."""
    comparison, found = between(evidence, part.ours, part.other, part.metric, seeds)
    gate, why = _gate(evidence, part, seeds)
    return comparison, NO if gate or found is None else part_p(part, found.at_most, found.at_least), gate, why


def _at_looks(each: Sequence[PartP]) -> PartP:
    """The p at the looks that were reached, and 1 at the others."""
    left = [1.0] * (len(LOOKS) - len(each))
    return PartP(*(np.array([*(getattr(p, of) for p in each), *left]) for of in ("holds", "fails", "little")))


def _gate(evidence: Evidence, part: Part, seeds: Sequence[int]) -> tuple[Answer | None, tuple[str, ...]]:
    """What keeps a part from being judged, if anything; all of it in words."""
    conducts, rows = evidence.conducts, [*part.ours, *part.other]
    if conducts.faults(rows, seeds):
        return FAULTY, ("trained by code with a known fault",)
    models, tasks = conducts.models(rows), tasks_of(part.metric)
    learning = _said({model: conducts.still_learning(model, seeds) for model in models})
    if part.metric == OVERFITTING:
        learning += _said({model: conducts.unseen(model, seeds, tasks) for model in models})
    worse = _said({model: conducts.made_worse(model, seeds, tasks) for model in models})
    unequal = conducts.unequal(part.ours, part.other, seeds, tasks, part.differs)
    gates: dict[Answer, list[str]] = {LEARNING: learning, WORSE: worse, UNEQUAL: unequal}
    return next((gate for gate, why in gates.items() if why), None), (*learning, *worse, *unequal)


def _said(of_models: Mapping[str, str]) -> list[str]:
    return [f"{model}: {said}" for model, said in of_models.items() if said]


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
    implied = _implied([(claim.parts[at], seen[at].budgets) for at in counts])
    beside = " ".join([*implied, *_machines([seen[at].machines for at in counts])])
    why = _why(evidence, claim, replace(ruling, answer=answer), answers, shown, seen, told)
    gates = tuple("; ".join(one.why) for one in seen)
    return Verdict(
        claim, answer, f"{why} {beside}".strip(), tuple(answers), tuple(shown), gates, ruling.look, ruling.parts, beside
    )


def _ruling(made: Decision | None, at: int, parts: Sequence[tuple[int, PartP]]) -> Ruling:
    """What is proved of a claim, from the p of those of its parts that count."""
    answer = OPEN if made is None else _answer(made, at)
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


def _why(
    evidence: Evidence, claim: Claim, ruling: Ruling, answers: Sequence[Answer], found: Sequence[Comparison | None],
    seen: Sequence[Seen], told: int,
) -> str:  # fmt: skip
    """A sentence or a few, for people; p is that of the look `told`."""
    overall = ruling.answer
    deciding = [at for at, part in enumerate(claim.parts) if not part.confounded]
    said: list[Answer] = [answers[at] for at in deciding]
    doubtful = (OPEN,) if NOT_RUN in said else (OPEN, *PROVED)  # proved alone, and not after correction
    missing = [part for part, answer in zip(claim.parts, answers, strict=True) if answer == NOT_RUN]
    confounded = [part for part, one in zip(claim.parts, found, strict=True) if part.confounded and one is not None]
    return " ".join(
        [
            *_gated(overall, [seen[at] for at in deciding]),
            *_counted(overall, said, [claim.parts[at] for at in ruling.parts]),
            *_early(ruling.look, [found[at] for at in ruling.parts]),
            *_doubts(overall, [(found[at], seen[at].look) for at in deciding if answers[at] in doubtful], told),
            *_left_out(evidence, overall, [(claim.parts[at], seen[at]) for at in deciding]),
            *_missing(evidence, missing),
            *_besides(confounded),
        ]
    )


def _gated(overall: Answer, seen: Sequence[Seen]) -> list[str]:
    """What keeps a claim from being judged, in the words of its gates, each reason once."""
    why = dict.fromkeys(reason for one in seen if one.gate == overall for reason in one.why)
    return [f"Not judged: {'; '.join(why)}."] if why else []


def proved(part: Part, answer: Answer) -> str:
    """What a part that decides proves of ours less the other's, such as `above 0`; as `part_p` tests it."""
    matters, above, below = f"{part.matters:g}", "above", "below"
    if part.expects == "close":
        return f"within {matters} of 0" if answer == HOLDS else f"farther than {matters} from 0"
    if part.expects == "not higher":
        return f"{below if answer == HOLDS else above} +{matters}"
    sign, (holding, failing) = ("+", (above, below)) if part.expects == "higher" else (MINUS, (below, above))
    published = None if part.published is None else part.published if part.expects == "higher" else -part.published
    small = published is not None and published < part.matters
    if answer == LITTLE:
        return f"{holding} 0, and {failing} {sign}{matters}"
    return f"{holding} 0" if answer == HOLDS else f"{failing} {'0' if small else f'{sign}{matters}'}"


def _counted(overall: Answer, said: Sequence[Answer], proving: Sequence[Part]) -> list[str]:
    number, holding = len(said), sum(answer in (HOLDS, LITTLE) for answer in said)
    if overall == HOLDS:
        return ["Its comparison holds." if number == 1 else f"All {number} comparisons hold."]
    if overall in (FAILS, LITTLE):
        which = f"{_named(proving[0])} is proved to be {proved(proving[0], overall)}"
        more = f"; {len(proving) - 1} more likewise" if len(proving) > 1 else ""
        return [f"{which}{more}."]
    failing = said.count(FAILS)
    none = f"Alone, none of its {number} comparisons is decided."
    told = [f"Alone, {holding} of its {number} comparisons hold and {failing} do not." if holding + failing else none]
    return told if number > 1 and overall == OPEN else []


def _named(part: Part) -> str:
    score = figures.SCORES.get(part.metric, part.metric)
    return f"{' '.join(part.ours)} {MINUS} {' '.join(part.other)}, {score},"


def _early(look: int | None, found: Sequence[Comparison | None]) -> list[str]:
    """That an earlier look decided than the one whose numbers are shown."""
    shown = next((one.seeds for one in found if one is not None), 0)
    if look is None or look >= shown:
        return []
    return [f"The first {look} seeds decided it, and p is theirs; the differences are of all {shown}."]


def _doubts(overall: Answer, found: Sequence[tuple[Comparison | None, int | None]], told: int) -> list[str]:
    """Why what was run does not tell; of each comparison its look, and the look whose p is shown."""
    few = [one for one, look in found if one is not None and look is None]
    looked = [one for one, look in found if one is not None and look is not None]
    if overall != OPEN:
        return []
    first = (
        [f"Fewer than {min(LOOKS)} seeds: nothing is decided yet."] if any(o.seeds < min(LOOKS) for o in few) else []
    )
    return [*first, *_p_asked_for(looked, told), *_promised(looked)]


def _left_out(evidence: Evidence, overall: Answer, parts: Sequence[tuple[Part, Seen]]) -> list[str]:
    """Which seeds are not counted, of open claims; and which are missing at the first look."""
    said = []
    for part, one in parts if overall not in PROVED else ():
        sides = f"{' '.join(part.ours)} and {' '.join(part.other)}"
        said += [f"Seeds of {sides} that are left out: {one.left_out}."] if one.left_out else []
        if one.comparison is not None and one.look is None and one.comparison.seeds >= min(LOOKS):
            first = ", ".join(map(str, evidence.planned[: min(LOOKS)]))
            said.append(f"Nothing is decided before {sides} both have the seeds {first}.")
    return list(dict.fromkeys(said))


def _p_asked_for(looked: Sequence[Comparison], seeds: int) -> list[str]:
    """The p of a claim at the last look that all of its parts have reached, beside that which a verdict asks for."""
    if not looked or looked[0].refuted is None:
        return []
    p = f"{looked[0].corrected:.3f} for `holds` and {looked[0].refuted:.3f} for `does not hold`"
    return [f"Corrected p: {p}; with {seeds} seeds {LOOKS[seeds]:.3f} or less decides."]


def _promised(looked: Sequence[Comparison]) -> list[str]:
    found = f"{max((one.detectable for one in looked if one.detectable is not None), default=0):.3f}"
    return [f"With {PLANNED} seeds a difference of {found} would be found."] if looked else []


def _missing(evidence: Evidence, parts: Sequence[Part]) -> list[str]:
    """The variants of parts that were not run; where both sides were, that they share no seed."""
    names: list[str] = []
    for part in parts:
        absent = [name for name in (*part.ours, *part.other) if not evidence.has(name, part.metric)]
        names += absent or [f"{' '.join(part.ours)} and {' '.join(part.other)} with the same seed"]
    names = list(dict.fromkeys(names))
    return [f"Not run: {first_of(names, NAMED)}."] if names else []


def _implied(parts: Sequence[tuple[Part, Sequence[str]]]) -> list[str]:
    """That the sides had other budgets, which is part of what the claim compares; with the first one's numbers."""
    unequal = [(part, budgets) for part, budgets in parts if budgets]
    if not unequal:
        return []
    part, budgets = unequal[0]
    more = _the_same(len(unequal) - 1)
    sides = f"{' + '.join(part.ours)} and {' + '.join(part.other)}"
    return [f"Budgets differ, as the claim implies: {sides} had {', '.join(budgets)}{more}."]


def _machines(parts: Sequence[str]) -> list[str]:
    """That the sides were trained on different machines, with the first one's."""
    apart = [machines for machines in parts if machines]
    more = _the_same(len(apart) - 1)
    return [f"Trained on different machines: {apart[0]}{more}."] if apart else []


def _the_same(others: int) -> str:
    of = "is true of 1 more comparison" if others == 1 else f"is true of {others} more comparisons"
    return f"; the same {of}" if others else ""


def _besides(parts: Sequence[Part]) -> list[str]:
    names = ", ".join(dict.fromkeys(name for part in parts for name in part.confounded))
    one = "One more comparison is shown but not counted: its sides"
    several = f"{len(parts)} more comparisons are shown but not counted: their sides"
    return [f"{one if len(parts) == 1 else several} differ in {names} as well."] if parts else []
