"""Forest plots: every comparison of a paper's claims in a line, placed once for the page and for pictures.

A line has our difference with its interval, the margin that matters to both sides of 0 as a band, and the published
difference as a mark. Above a claim's lines stands what it says, below them how many more comparisons it makes of which
there is nothing to draw.
"""

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mtbert.reporting import markdown
from mtbert.reporting.answers import FAULTY, OPEN
from mtbert.reporting.claimed import alone
from mtbert.reporting.claims import Answer, Comparison, Part, Verdict

WIDTH = 46  # letters of a line of a claim's statement: what a telephone's screen has room for
ROOM = 1.15  # by which the axis goes beyond what it has to show
COLOURS: dict[Answer, str] = {
    "holds": "yes", "real, but smaller than what matters": "yes", "does not hold": "no",
    "cannot be told from these runs": "open", "cannot be told: trained by faulty code": "open",
    "cannot be told: still learning": "open",
    "cannot be told: unequal budgets": "open", "cannot be compared": "open", "not run": "none",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A comparison at its height; `comparison` is None where it was not run, `answer` what its claim lets it tell."""

    y: float
    short: str
    label: str
    part: Part
    answer: Answer
    comparison: Comparison | None

    @property
    def faulty(self) -> bool:
        """Whether faulty code trained one of its sides."""
        return self.answer == FAULTY


@dataclass(frozen=True)
class Head:
    """A line of text at its height: of a claim's statement, or of what is not drawn of it."""

    y: float
    text: str


@dataclass(frozen=True)
class Forest:
    """Claims one below the other, from 0 down to -height.

    Attributes:
        heads: their statements.
        lines: their comparisons.
        notes: how many more comparisons they make.
        height: of all lines.
        reach: how far the axis goes to both sides.
    """

    heads: list[Head]
    lines: list[Line]
    notes: list[Head]
    height: int
    reach: float


def of(verdicts: Sequence[Verdict]) -> Forest:
    """The forest of these claims."""
    heads, lines, notes, at = [], [], [], 0
    for verdict in verdicts:
        for text in textwrap.wrap(f"{verdict.claim.statement} [{_short(verdict.answer)}]", WIDTH):
            heads.append(Head(-at, text))
            at += 1
        parts = zip(verdict.claim.parts, verdict.answers, verdict.comparisons, strict=True)
        empty: Counter[Answer] = Counter()
        for number, (part, answer, comparison) in enumerate(parts):
            if comparison is None and part.published is None:
                empty[answer] += 1
                continue
            shown = answer if alone(verdict, number) == answer else OPEN  # alone it decides nothing
            lines.append(Line(-at, *_labels(part), part, shown, comparison))
            at += 1
        for answer, count in empty.items():
            notes.append(Head(-at, f"{count} comparison{'s' * (count > 1)}, {answer}"))
            at += 1
    return Forest(heads, lines, notes, at, _reach(lines))


def _short(answer: Answer) -> str:
    """A verdict in a word or three."""
    return answer.removesuffix(" from these runs").removeprefix("cannot be told: ").split(",")[0]


def _labels(part: Part) -> tuple[str, str]:
    """What is compared, for a narrow and for a wide screen; in brackets where it decides nothing."""
    metric = {"overall_raw": "overall", "overall_normalised": "overall"}.get(
        part.metric, markdown.HEADINGS.get(part.metric, part.metric)
    )
    compared = f"{_side(part.ours)} {markdown.MINUS} {_side(part.other)}, {metric}"
    return (f"({metric})", f"({compared})") if part.confounded else (metric, compared)


def _side(names: Sequence[str]) -> str:
    return names[0] + (f" + {len(names) - 1}" if len(names) > 1 else "")


def _reach(lines: Sequence[Line]) -> float:
    """As far as ours that count, and the margins, go; what lies farther out is drawn at the edge."""
    ends: list[float] = [2 * line.part.matters for line in lines]
    run = [(line, line.comparison) for line in lines if line.comparison is not None]
    counted = [(line, one) for line, one in run if not line.part.confounded]
    for _, one in counted or run:
        ends += [abs(one.low), abs(one.high)]
    return ROOM * max(ends, default=1.0)


def placed(difference: float, reach: float) -> tuple[float, bool]:
    """Where the mark of a difference stands, and whether that is at the edge, beyond which it would be."""
    edge = _edge(reach)
    return max(-edge, min(edge, difference)), abs(difference) > edge


def placed_beside(published: float, reach: float) -> tuple[float, bool]:
    """The same of a published difference, which stands before ours where both are at an edge."""
    x, edge = placed(published, reach)
    return (0.97 * x if edge else x), edge


def bar(one: Comparison, reach: float) -> tuple[float, float]:
    """How far its interval goes below and above the mark of a difference, up to the edges.

    Not at all to a side where an interval of quantiles, as one seed has, begins beyond the difference.
    """
    (low, _), (middle, _), (high, _) = (placed(value, reach) for value in (one.low, one.difference, one.high))
    return max(0.0, middle - low), max(0.0, high - middle)


def beyond(one: Comparison, reach: float) -> list[float]:
    """The edges that its interval goes beyond, where the mark of its difference does not tell so."""
    middle, _ = placed(one.difference, reach)
    ends = [placed(value, reach) for value in (one.low, one.high)]
    return [x for x, outside in ends if outside and x != middle]


def _edge(reach: float) -> float:
    return reach / ROOM * 1.08


def by_paper(verdicts: Sequence[Verdict]) -> dict[str, Forest]:
    """A forest for each paper of which a comparison was run, in the papers' order."""
    papers = dict.fromkeys(verdict.claim.paper for verdict in verdicts)
    of_papers = {paper: [verdict for verdict in verdicts if verdict.claim.paper == paper] for paper in papers}
    run = {paper: some for paper, some in of_papers.items() if any(one for v in some for one in v.comparisons)}
    return {paper: of(some) for paper, some in run.items()}
