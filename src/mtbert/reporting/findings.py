"""What was found, for a newcomer: sentences made of the verdicts, and whom of two reports that differ they are with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mtbert.reporting import claimed, markdown, sentences
from mtbert.reporting.answers import FAILS, FAULTY, HOLDS, LEARNING, LITTLE, NOT_RUN, PROVED, UNEQUAL, UNLIKE
from mtbert.reporting.answers import OPEN as UNDECIDED
from mtbert.reporting.catalog import Completed
from mtbert.reporting.claims import Answer, Comparison, Contradiction, Part, Side, Verdict
from mtbert.reporting.fairness import BUDGET
from mtbert.reporting.reasons import proved
from mtbert.statistics.verdicts import LOOKS

MACHINERY = (
    "**This is the machinery only.** The sentences are generated and the encoder starts untrained: no line below says "
    "anything of PALs or of any other method. The runs on real data are in `reports/laptop`."
)
BECAUSE: dict[Answer, str] = {  # why a claim is open
    FAULTY: "as the code that trained them had a fault",
    UNLIKE: "as their two sides cannot be compared",
    LEARNING: "as models are still learning, which need longer trainings",
    UNEQUAL: "as their two sides had unequal budgets",
    UNDECIDED: "as the runs do not tell yet",
}
OPEN = "Open."
AGAINST = ", against the claim"
CONTRADICTED = "Where the reports disagree"
APART = "What stands out so far"
RECIPE = 3  # settings that differ, from which on a part compares whole recipes
NO_RECIPE = (*BUDGET, "steps_per_epoch", "tasks", "training.tasks")


@dataclass(frozen=True)
class Standing:
    """A contradiction with what the verdicts make of it.

    Attributes:
        question: what the two sides answer.
        sides: of each what it says, and of its claims paper, section, verdict and, while open, the differences so far.
        evidence: which side it is on, in a sentence.
    """

    question: str
    sides: tuple[tuple[str, list[str]], tuple[str, list[str]]]
    evidence: str


def lead(completed: Completed, verdicts: Sequence[Verdict], faults: Sequence[str] = ()) -> list[str]:
    """What comes first, in Markdown: whether only the machinery is shown; how much is decided; known faults."""
    first = [MACHINERY] if sentences.may_be_committed(completed) else []
    return [*first, decided(verdicts), *faults] if verdicts else [*faults]


def each(verdicts: Sequence[Verdict]) -> list[str]:
    """A sentence for each claim that is decided."""
    return [sentence(one) for one in verdicts if one.answer in PROVED]


def decided(verdicts: Sequence[Verdict]) -> str:
    """How many claims are decided, open and not run."""
    answers = [verdict.answer for verdict in verdicts]
    hold, small, fail, absent = (answers.count(answer) for answer in (HOLDS, LITTLE, FAILS, NOT_RUN))
    total, settled = len(answers), hold + small + fail
    parts = [f"{hold} {_holds(hold)}", f"{small} {_holds(small)} by less than what matters"]
    parts += [f"{fail} {'does' if fail == 1 else 'do'} not"]
    which = f": {', '.join(parts)}" if settled else ""
    rest = total - settled - absent
    told = [f"{number} {reason}" for answer, reason in BECAUSE.items() if (number := answers.count(answer))]
    why = f" ({', '.join(told)})" if told else ""
    return (
        f"**{settled} of {total} claims {_is(settled)} decided**{which}. {rest} {_is(rest)} open{why}, and {absent} "
        f"{'was' if absent == 1 else 'were'} not run."
    )


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _holds(number: int) -> str:
    return "holds" if number == 1 else "hold"


def sentence(verdict: Verdict) -> str:
    """A claim that is decided, with the numbers of the comparison that decided it."""
    part, one = deciding(verdict)
    early = verdict.look is not None and verdict.look < one.seeds
    look = f", decided by the first {verdict.look}" if early else ""
    return (
        f"{verdict.claim.statement} ({verdict.claim.told_by}, {verdict.claim.section}) "
        f"**{markdown.capital(verdict.answer)}**: {claimed.pair(part)} is proved to be {proved(part, verdict.answer)}. "
        f"{one.seeds} seeds{look}: {claimed.number(part, one)}. {verdict.beside}"
    ).rstrip()


def deciding(verdict: Verdict) -> tuple[Part, Comparison]:
    """Of a decided claim, the comparison that tells most."""
    pairs = list(zip(verdict.claim.parts, verdict.comparisons, strict=True))
    return next((part, one) for part, one in (pairs[at] for at in verdict.deciding) if one is not None)


def so_far(verdicts: Sequence[Verdict]) -> list[tuple[str, list[str]]]:
    """What open claims' comparisons show: what the lines that follow are, and the lines. Only those that have any."""
    both = [(about_apart(verdicts), apart(verdicts)), (about_alike(verdicts), alike(verdicts))]
    return [(about, lines) for about, lines in both if lines]


def apart(verdicts: Sequence[Verdict]) -> list[str]:
    """Those whose intervals leave out 0; those that do not count come last."""
    return _lines(
        (part, f"{claimed.number(part, one)}{AGAINST if _against(part, one) else ''}")
        for part, one in _open(verdicts)
        if _leaves_out_0(one)
    )


def alike(verdicts: Sequence[Verdict]) -> list[str]:
    """Those whose intervals lie within what matters, likewise."""
    return _lines(
        (part, claimed.number(part, one))
        for part, one in _open(verdicts)
        if round(max(-one.low, one.high), 6) <= part.matters
    )


def _leaves_out_0(one: Comparison) -> bool:
    """Whether its interval does, as it is printed."""
    return round(one.low, 3) * round(one.high, 3) > 0


def _against(part: Part, one: Comparison) -> bool:
    """Whether the whole interval, as it is printed, is where the claim says that the difference is not."""
    low, high = round(one.low, 3), round(one.high, 3)
    beyond = {"higher": -high, "lower": low, "not higher": low - part.matters}
    return beyond.get(part.expects, max(low, -high) - part.matters) > 0


def _lines(comparisons: Iterable[tuple[Part, str]]) -> list[str]:
    """A line for each two sides, with every difference between them in words."""
    by_sides: dict[tuple[str, str], list[str]] = {}
    for part, number in comparisons:
        by_sides.setdefault((claimed.pair(part), _beside(part)), []).append(number)
    return [f"{sides}: {'; '.join(numbers)}{beside}" for (sides, beside), numbers in by_sides.items()]


def _open(verdicts: Sequence[Verdict]) -> list[tuple[Part, Comparison]]:
    """Open claims' comparisons of three seeds or more, those that count first; of the same that which is published.

    Those of models that faulty code trained are left out.
    """
    rows = [
        (part, comparison)
        for verdict in verdicts
        if verdict.answer not in PROVED
        for part, comparison, answer in zip(verdict.claim.parts, verdict.comparisons, verdict.answers, strict=True)
        if answer != FAULTY
    ]
    ranked = sorted(rows, key=lambda one: (bool(one[0].confounded), one[0].published is None))
    found: dict[tuple[str, str], tuple[Part, Comparison]] = {}
    for part, one in ranked:
        if one is not None and one.seeds >= min(LOOKS):
            found.setdefault((claimed.pair(part), part.metric), (part, one))
    return list(found.values())


def _beside(part: Part) -> str:
    """In what the sides differ beside what the claim speaks of; or that they are whole recipes."""
    if part.confounded:
        return f"; not counted, as {', '.join(part.confounded)} differ as well"
    differing = [name for name in part.differs if name not in NO_RECIPE]
    return f"; whole recipes: {', '.join(differing)} differ" if len(differing) >= RECIPE else ""


def about_apart(verdicts: Sequence[Verdict]) -> str:
    """What the lines of `apart` are: how many there are, and how many of them chance alone would make."""
    every = [one for part, one in _open(verdicts) if not part.confounded]
    number, chance = sum(map(_leaves_out_0, every)), 0.05 * len(every)
    by_chance = f"about {chance:.0f}" if chance >= 1 else "fewer than one"
    differences = f"{len(every)} difference{'' if len(every) == 1 else 's'}{_sound(verdicts)}"
    return (
        f"Open claims name {differences}. {number} {'has' if number == 1 else 'have'} a 95 % interval that leaves out "
        f"0, where chance alone would give {by_chance}. This decides nothing: it is not corrected for how many "
        "were compared, and models may be still learning."
    )


def about_alike(verdicts: Sequence[Verdict]) -> str:
    """What the lines of `alike` are."""
    return (
        f"Differences of open claims{_sound(verdicts)} whose 95 % interval lies within what matters "
        f"({claimed.matters(verdicts)}): too small to choose by, so far. This is not corrected, and decides nothing."
    )


def _sound(verdicts: Sequence[Verdict]) -> str:
    """Which comparisons are spoken of, where some are of models that faulty code trained."""
    return " between models of sound code" if any(FAULTY in one.answers for one in verdicts) else ""


def standings(contradictions: Iterable[Contradiction], verdicts: Sequence[Verdict]) -> list[Standing]:
    """Every contradiction, with the side that the evidence is on."""
    by_name = {verdict.claim.name: verdict for verdict in verdicts}
    judged = (one for one in contradictions if all(name in by_name for side in one.sides for name in side.claims))
    said: set[str] = set()
    return [_standing(one, by_name, said) for one in judged]


def _standing(one: Contradiction, verdicts: Mapping[str, Verdict], said: set[str]) -> Standing:
    """What the two sides come to; `said` holds the differences that were shown before, and gets these."""
    first, second = (
        (side.says, list(dict.fromkeys(_claim(side, verdicts[name], said) for name in side.claims)))
        for side in one.sides
    )
    return Standing(one.question, (first, second), _evidence(one.sides, verdicts))


def _claim(side: Side, verdict: Verdict, before: set[str]) -> str:
    """Whose it is and its verdict; while it is open, the differences that the question asks for, of sound code."""
    beside = ", by a comparison that this question does not ask for" if _beside_the_question(side, verdict) else ""
    said = f"{verdict.claim.told_by}, {verdict.claim.section}: {verdict.answer}{beside}."
    if verdict.answer in (*PROVED, FAULTY):
        return said
    asked = [verdict.claim.parts[at - 1] for at in side.only.get(verdict.claim.name, [])] or verdict.claim.parts
    shown = [(part, one) for part, one in claimed.counted(verdict) if part in asked]
    numbers = f"{claimed.seen_so_far(shown)} {verdict.beside}".rstrip() if shown else ""
    again = numbers in before
    before.add(numbers)
    return f"{said} {'Its differences are above.' if numbers and again else numbers}".rstrip()


def _evidence(sides: tuple[Side, Side], verdicts: Mapping[str, Verdict]) -> str:
    answers: list[list[Answer]] = [[_answers(side, verdicts[name]) for name in side.claims] for side in sides]
    backed = [_backed(side, said) for side, said in zip(sides, answers, strict=True)]
    refuted = [_refuted(side, said) for side, said in zip(sides, answers, strict=True)]
    if all(backed):
        return "With both: each holds for the models that it compares."
    if all(refuted):
        return "With neither: the claims of both sides fail."
    if any(backed):
        return f"With this side: {sides[backed.index(True)].says}"
    if any(refuted):
        return f"Against this side: {sides[refuted.index(True)].says} The other is not decided."
    return OPEN


def _answers(side: Side, verdict: Verdict) -> Answer:
    """A claim's verdict, as far as it answers the question: open where it fails by a comparison that does not."""
    return UNDECIDED if _beside_the_question(side, verdict) else verdict.answer


def _beside_the_question(side: Side, verdict: Verdict) -> bool:
    asked = side.only.get(verdict.claim.name, [at + 1 for at in verdict.deciding])
    return verdict.answer == FAILS and not any(at + 1 in asked for at in verdict.deciding)


def _backed(side: Side, said: Sequence[Answer]) -> bool:
    """Whether its claims hold, all of them where each says another thing; else one, while none fails."""
    holding = [answer in (HOLDS, LITTLE) for answer in said]
    return all(holding) if side.all_of else any(holding) and FAILS not in said


def _refuted(side: Side, said: Sequence[Answer]) -> bool:
    """Whether a claim of it fails, and none holds where all of them say the same."""
    return FAILS in said and (side.all_of or not {HOLDS, LITTLE} & set(said))


def contradicted(standings: Sequence[Standing]) -> str:
    """The contradictions in Markdown, a question each with what its two sides say; empty where there are none."""
    parts = [f"### {CONTRADICTED}"]
    for one in standings:
        sides = [f"*{says}* {' '.join(claims)}" for says, claims in one.sides]
        parts += [f"**{one.question}** {one.evidence}", markdown.bullets(sides)]
    return "\n\n".join(parts) if standings else ""


def render(
    completed: Completed, verdicts: Sequence[Verdict], standings: Sequence[Standing], faults: Sequence[str] = ()
) -> str:
    """The first section of the README; empty where no claim was judged."""
    if not verdicts:
        return ""
    still_open = any(one.answer not in PROVED for one in verdicts)
    needed = "[Seeds that open claims still need](details/claims.md#seeds-still-needed)." if still_open else ""
    count, *rest = lead(completed, verdicts, faults)
    found = [f"{count} {needed}".rstrip(), *rest, markdown.bullets(each(verdicts))]
    shown = [text for about, lines in so_far(verdicts) for text in (about, markdown.bullets(lines))]
    beside = [f"### {APART}", *shown] if shown else []
    parts = ["## What was found", *found, contradicted(standings), *beside]
    return "\n\n".join(part for part in parts if part)
