"""Why a verdict is what it is, in sentences."""

import math
from collections.abc import Sequence

from mtbert.errors import first_of
from mtbert.reporting import figures
from mtbert.reporting.answers import FAILS, HOLDS, LITTLE, NOT_RUN, OPEN, PROVED, Ruling
from mtbert.reporting.claims import Answer, Claim, Comparison, Part
from mtbert.reporting.evidence import Evidence
from mtbert.reporting.markdown import MINUS
from mtbert.reporting.seen import Seen
from mtbert.statistics.verdicts import LOOKS, PLANNED

NAMED = 4  # variants in a sentence


def why(
    evidence: Evidence, claim: Claim, ruling: Ruling, answers: Sequence[Answer], found: Sequence[Comparison | None],
    seen: Sequence[Seen], told: int,
) -> str:  # fmt: skip
    """A sentence or a few, for people; p is that of the look `told`."""
    overall = ruling.answer
    deciding = [at for at, part in enumerate(claim.parts) if not part.confounded]
    said: list[Answer] = [answers[at] for at in deciding]
    doubtful = (OPEN,) if NOT_RUN in said else (OPEN, *PROVED)  # proved alone, and not after correction
    open_parts = [at for at in deciding if answers[at] in doubtful]
    missing = [part for part, answer in zip(claim.parts, answers, strict=True) if answer == NOT_RUN]
    confounded = [part for part, one in zip(claim.parts, found, strict=True) if part.confounded and one is not None]
    return " ".join(
        [
            *_gated(overall, [seen[at] for at in deciding]),
            *_contradicted(ruling),
            *_counted(overall, said, [claim.parts[at] for at in ruling.parts]),
            *_early(ruling.look, [found[at] for at in ruling.parts]),
            *([] if ruling.both else _doubts(overall, [(found[at], seen[at].look) for at in open_parts], told)),
            *_left_out(evidence, overall, [(claim.parts[at], seen[at]) for at in deciding]),
            *_missing(evidence, missing),
            *_besides(confounded),
        ]
    )


def _gated(overall: Answer, seen: Sequence[Seen]) -> list[str]:
    """What keeps a claim from being judged, in the words of its gates, each reason once."""
    why = dict.fromkeys(reason for one in seen if one.gate == overall for reason in one.why)
    return [f"Not judged: {'; '.join(why)}."] if why else []


def _contradicted(ruling: Ruling) -> list[str]:
    """That one look proves what another refutes."""
    if ruling.both is None or ruling.answer != OPEN:
        return []
    return ["It is proved to hold with {} seeds and not to hold with {}, so neither is believed.".format(*ruling.both)]


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
    # rounded up, so that a p above a level is not printed as the level
    holds, fails = (math.ceil(1000 * p) / 1000 for p in (looked[0].corrected, looked[0].refuted))
    p = f"{holds:.3f} for `holds` and {fails:.3f} for `does not hold`"
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


def implied(parts: Sequence[tuple[Part, Sequence[str]]]) -> list[str]:
    """That the sides had other budgets, which is part of what the claim compares; with the first one's numbers."""
    unequal = [(part, budgets) for part, budgets in parts if budgets]
    if not unequal:
        return []
    part, budgets = unequal[0]
    more = _the_same(len(unequal) - 1)
    sides = f"{' + '.join(part.ours)} and {' + '.join(part.other)}"
    return [f"Budgets differ, as the claim implies: {sides} had {', '.join(budgets)}{more}."]


def on_machines(parts: Sequence[str]) -> list[str]:
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
