"""What was found, for a newcomer: sentences made of the verdicts, and whom of two reports that differ they are with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mtbert.reporting import claimed, markdown, sentences
from mtbert.reporting.catalog import Completed
from mtbert.reporting.claims import Comparison, Contradiction, Part, Side, Verdict
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
    which = "" if len(verdict.claim.parts) == 1 else f" ({' '.join(part.ours)} against {' '.join(part.other)})"
    answer = markdown.capital(verdict.answer)
    return (
        f"{verdict.claim.statement} ({verdict.claim.told_by}, {verdict.claim.section}) **{answer}**: "
        f"{markdown.number(one.difference, '+')}, 95 % from {markdown.number(one.low, '+')} to "
        f"{markdown.number(one.high, '+')} over {one.seeds} seeds{which}{published}."
    )


def deciding(verdict: Verdict) -> tuple[Part, Comparison]:
    """Of a decided claim: the first comparison that fails or, where all hold, the one that holds by the least."""
    parts = zip(verdict.claim.parts, verdict.answers, verdict.comparisons, strict=True)
    run = [(part, said, one) for part, said, one in parts if one is not None and not part.confounded]
    failing = [(part, one) for part, said, one in run if said == FAILS]
    if verdict.answer == FAILS and failing:
        return failing[0]
    return min(((part, one) for part, _, one in run), key=lambda pair: abs(pair[1].difference))


def apart(verdicts: Sequence[Verdict]) -> list[str]:
    """What open claims' comparisons show whose intervals, of three seeds or more, leave out 0; with those not counted.

    A line has two sides, and each difference between them once.
    """
    open_ones = [verdict for verdict in verdicts if verdict.answer not in claimed.DECIDED]
    pairs = [pair for one in open_ones for pair in zip(one.claim.parts, one.comparisons, strict=True)]
    by_sides: dict[tuple[str, str], dict[str, str]] = {}
    for part, one in pairs:
        if one is not None and one.seeds >= min(LOOKS) and one.low * one.high > 0:
            beside = f"; {', '.join(part.confounded)} differ as well" if part.confounded else ""
            by_sides.setdefault((claimed.pair(part), beside), {})[part.metric] = claimed.number(part, one)
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
    """A side is backed where a claim of it holds and none fails, and refuted the other way about."""
    answers = [{verdicts[name].answer for name in side.claims} for side in sides]
    backed = [bool(said & {HOLDS, LITTLE}) and FAILS not in said for said in answers]
    refuted = [FAILS in said and not said & {HOLDS, LITTLE} for said in answers]
    if all(backed):
        return "With both: each holds for the models that it compares."
    if all(refuted):
        return "With neither: the claims of both sides fail."
    for side in (0, 1):
        if backed[side]:
            return f"With this side: {sides[side].says}"
        if refuted[side]:
            return f"Against this side: {sides[side].says} The other is not decided."
    return OPEN


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
