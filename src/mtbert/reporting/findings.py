"""What was found, for a newcomer: sentences made of the verdicts, and whom of two reports that differ they are with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mtbert.reporting import claimed, markdown, sentences
from mtbert.reporting.catalog import Completed
from mtbert.reporting.claims import Answer, Comparison, Contradiction, Part, Side, Verdict
from mtbert.reporting.verdicts import FAILS, HOLDS, LEARNING, LITTLE, NOT_RUN
from mtbert.statistics.verdicts import LOOKS

MACHINERY = (
    "**This is the machinery only.** The sentences are generated and the encoder starts untrained: no line below says "
    "anything of PALs or of any other method. The runs on real data are in `reports/laptop`."
)
OPEN = "Open."
APART = (
    "Differences of open claims whose 95 % interval leaves out 0. They decide nothing: not corrected for how many were "
    "compared, and of models that may be still learning or differ in more than the claim says."
)


@dataclass(frozen=True)
class Standing:
    """A contradiction with what the verdicts make of it.

    Attributes:
        question: what the two sides answer.
        sides: of each what it says, and its claims as their papers, sections and verdicts.
        evidence: which side it is on, in a sentence.
    """

    question: str
    sides: tuple[tuple[str, list[str]], tuple[str, list[str]]]
    evidence: str


def lead(completed: Completed, verdicts: Sequence[Verdict]) -> list[str]:
    """What comes first, in Markdown: that only the machinery is shown, where it is so; and how much is decided."""
    first = [MACHINERY] if sentences.may_be_committed(completed) else []
    return [*first, decided(verdicts)] if verdicts else []


def each(verdicts: Sequence[Verdict]) -> list[str]:
    """A sentence for each claim that is decided."""
    return [sentence(one) for one in verdicts if one.answer in claimed.DECIDED]


def decided(verdicts: Sequence[Verdict]) -> str:
    """How many claims are decided, open and not run."""
    answers = [verdict.answer for verdict in verdicts]
    hold, small, fail, absent = (answers.count(answer) for answer in (HOLDS, LITTLE, FAILS, NOT_RUN))
    total, settled = len(answers), hold + small + fail
    parts = [f"{hold} hold", f"{small} hold by less than what matters", f"{fail} do not"]
    which = f": {', '.join(parts)}" if settled else ""
    rest, learning = total - settled - absent, answers.count(LEARNING)
    why = f" ({learning} as models are still learning)" if learning else ""
    return (
        f"**{settled} of {total} claims {'is' if settled == 1 else 'are'} decided**{which}. {rest} cannot be told from "
        f"these runs{why}, and {absent} {'was' if absent == 1 else 'were'} not run."
    )


def sentence(verdict: Verdict) -> str:
    """A claim that is decided, with the numbers of the comparison that decided it."""
    part, one = deciding(verdict)
    published = "" if part.published is None else f"; published: {markdown.number(part.published, '+')}"
    sides = "" if len(verdict.claim.parts) == 1 else f" ({' '.join(part.ours)} against {' '.join(part.other)})"
    early = verdict.look is not None and verdict.look < one.seeds
    look = f" (decided by the first {verdict.look})" if early else ""
    answer = markdown.capital(verdict.answer)
    return (
        f"{verdict.claim.statement} ({verdict.claim.told_by}, {verdict.claim.section}) **{answer}**: "
        f"{markdown.number(one.difference, '+')} {claimed.HEADINGS[part.metric]}, 95 % from "
        f"{markdown.number(one.low, '+')} to {markdown.number(one.high, '+')} over {one.seeds} seeds{look}{sides}"
        f"{published}."
    )


def deciding(verdict: Verdict) -> tuple[Part, Comparison]:
    """Of a decided claim: the first comparison that fails or is small or, where all hold, that with the largest p."""
    parts = zip(verdict.claim.parts, verdict.answers, verdict.comparisons, strict=True)
    run = [(part, said, one) for part, said, one in parts if one is not None and not part.confounded]
    of_claim = [(part, one) for part, said, one in run if said == verdict.answer != HOLDS]
    return of_claim[0] if of_claim else max(((part, one) for part, _, one in run), key=lambda pair: pair[1].p)


def apart(verdicts: Sequence[Verdict]) -> list[str]:
    """What open claims' comparisons show whose intervals, of three seeds or more, leave out 0; with those not counted.

    A line has two sides, and each difference between them once.
    """
    open_ones = [verdict for verdict in verdicts if verdict.answer not in claimed.DECIDED]
    pairs = [pair for one in open_ones for pair in zip(one.claim.parts, one.comparisons, strict=True)]
    by_sides: dict[tuple[str, str], dict[str, str]] = {}
    for part, one in sorted(pairs, key=lambda pair: pair[0].published is None):  # of one pair that which is published
        if one is not None and one.seeds >= min(LOOKS) and round(one.low, 3) * round(one.high, 3) > 0:
            beside = f"; {', '.join(part.confounded)} differ as well" if part.confounded else ""
            by_sides.setdefault((claimed.pair(part), beside), {}).setdefault(part.metric, claimed.number(part, one))
    return [f"{sides}: {'; '.join(numbers.values())}{beside}" for (sides, beside), numbers in by_sides.items()]


def apart_in_short(verdicts: Sequence[Verdict]) -> str:
    """The same in Markdown; empty where there are none."""
    return f"{APART}\n\n{markdown.bullets(found)}" if (found := apart(verdicts)) else ""


def standings(contradictions: Iterable[Contradiction], verdicts: Sequence[Verdict]) -> list[Standing]:
    """Every contradiction, with the side that the evidence is on."""
    by_name = {verdict.claim.name: verdict for verdict in verdicts}
    return [_standing(one, by_name) for one in contradictions if all(n in by_name for s in one.sides for n in s.claims)]


def _standing(one: Contradiction, verdicts: Mapping[str, Verdict]) -> Standing:
    first, second = (
        (side.says, list(dict.fromkeys(_claim(verdicts[name]) for name in side.claims))) for side in one.sides
    )
    return Standing(one.question, (first, second), _evidence(one.sides, verdicts))


def _claim(verdict: Verdict) -> str:
    shown = [] if verdict.answer in claimed.DECIDED else claimed.counted(verdict)
    so_far = f", so far {claimed.difference(shown[0][1])}" if len(shown) == 1 else ""
    return f"{verdict.claim.told_by}, {verdict.claim.section}: {verdict.answer}{so_far}"


def _evidence(sides: tuple[Side, Side], verdicts: Mapping[str, Verdict]) -> str:
    answers: list[list[Answer]] = [[verdicts[name].answer for name in side.claims] for side in sides]
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


def _backed(side: Side, said: Sequence[Answer]) -> bool:
    """Whether its claims hold, all of them where each says another thing; else one, while none fails."""
    holding = [answer in (HOLDS, LITTLE) for answer in said]
    return all(holding) if side.all_of else any(holding) and FAILS not in said


def _refuted(side: Side, said: Sequence[Answer]) -> bool:
    """Whether a claim of it fails, and none holds where all of them say the same."""
    return FAILS in said and (side.all_of or not {HOLDS, LITTLE} & set(said))


def contradicted(standings: Sequence[Standing]) -> str:
    """The contradictions as a table in Markdown; empty where there are none."""
    lines = [
        {"question": one.question}
        | {
            name: f"{says} ({'; '.join(claims)})"
            for name, (says, claims) in zip(("one side", "the other"), one.sides, strict=True)
        }
        | {"the evidence": one.evidence}
        for one in standings
    ]
    return f"### Where the reports contradict each other\n\n{markdown.lined(lines, sides=4)}" if lines else ""


def render(completed: Completed, verdicts: Sequence[Verdict], standings: Sequence[Standing]) -> str:
    """The first section of the README; empty where no claim was judged."""
    if not verdicts:
        return ""
    found = [*lead(completed, verdicts), markdown.bullets(each(verdicts)), apart_in_short(verdicts)]
    parts = ["## What was found", *found, contradicted(standings)]
    return "\n\n".join(part for part in parts if part)
