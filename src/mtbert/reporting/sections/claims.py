"""What the papers claim, and what our runs say of it."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mtbert.reporting import claimed, forest, needed
from mtbert.reporting.claims import Answer, Comparison, Verdict
from mtbert.reporting.figures import NAMES, Figure, rounded, titled
from mtbert.reporting.forest import COLOURS as VERDICTS
from mtbert.reporting.forest import Forest, Line, bar, beyond, placed, placed_beside
from mtbert.reporting.markdown import interval, number
from mtbert.reporting.pictures import Picture, canvas
from mtbert.reporting.published import RIVALS, TITLES
from mtbert.reporting.sections.base import Numbers, Part, Report, Section

FORESTS = {  # what a difference's colour says, and whether it is hollow
    ("yes", False): "holds",
    ("no", False): "does not hold",
    ("open", False): "cannot be told",
    ("open", True): "trained by faulty code",
}
CLAIMED_BY = {RIVALS: "The field, of PALs and their rivals"}
ANSWERS = {"yes": "#0b6b50", "no": "#a23a12", "open": "#c08400", "none": "#5a6673"}  # by the colour of a verdict
ABOUT_FOREST = "ours less the other's, with 95 % intervals; in brackets: not counted; a triangle: farther out"
PUBLISHED, MARGIN = "published", "less than what matters"
OF_PAPERS: dict[str, Any] = {"markersize": 5, "markerfacecolor": "none", "color": "#5a6673"}
BAND = "#e4e8ec"


class Badge(NamedTuple):
    """How a verdict is shown: by colour, sign and text, so that none is needed alone."""

    colour: str
    sign: str
    text: str


BADGES: dict[Answer, Badge] = {
    "holds": Badge("yes", "\N{CHECK MARK}", "holds"),
    "real, but smaller than what matters": Badge("yes", "\N{ALMOST EQUAL TO}", "real, but small"),
    "does not hold": Badge("no", "\N{BALLOT X}", "does not hold"),
    "cannot be told from these runs": Badge("open", "?", "cannot be told"),
    "cannot be told: trained by faulty code": Badge("open", "?", "faulty code"),
    "cannot be told: still learning": Badge("open", "?", "still learning"),
    "cannot be told: unequal budgets": Badge("open", "?", "unequal budgets"),
    "cannot be compared": Badge("open", "?", "cannot be compared"),
    "not run": Badge("none", "\N{EN DASH}", "not run"),
}


def render(report: Report) -> str:
    """Every claim with its comparisons, and the seeds that open ones still need."""
    still_needed = needed.render_claims(needed.of_claims(report.verdicts))
    return "\n\n".join(filter(None, [claimed.render(report.verdicts), still_needed]))


def values(report: Report, local: bool) -> dict[str, Any]:
    """What the page shows."""
    verdicts = report.verdicts
    return {
        "verdicts": {heading: sorted_verdicts(some) for heading, some in claimed.apart(verdicts).items()},
        "matters": claimed.matters(verdicts),
        "needed": needed.still(needed.of_claims(verdicts)),
        "needed_about": needed.ABOUT,
    }


def sorted_verdicts(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Claims as the page shows them, those that hold first."""
    return [verdict_of(verdict) for verdict in sorted(verdicts, key=lambda one: [*BADGES].index(one.answer))]


def verdict_of(verdict: Verdict) -> dict[str, Any]:
    """A claim, its verdict, and each comparison with its numbers."""
    parts = [
        {
            "what": f"{' + '.join(part.ours)} against {' + '.join(part.other)}",
            "metric": NAMES[part.metric],
            "expects": part.expects,
            "published": part.published,
            "matters": part.matters,
            "confounded": ", ".join(part.confounded),
            "badge": BADGES[answer]._replace(**_alone(claimed.alone(verdict, at), answer)),
            "comparison": comparison,
        }
        for at, (part, answer, comparison) in enumerate(
            zip(verdict.claim.parts, verdict.answers, verdict.comparisons, strict=True)
        )
    ]
    told = claimed.judged(verdict)
    return {
        "published": any(part.published is not None for part in verdict.claim.parts),
        "name": verdict.claim.name,
        "paper": verdict.claim.told_by,
        "statement": verdict.claim.statement,
        "badge": BADGES[verdict.answer],
        "why": verdict.why,
        "p": None if told is None else (told.corrected, told.refuted),
        "parts": parts,
    }


def _alone(words: str, answer: Answer) -> dict[str, str]:
    """How a part is shown that is decided by itself, and did not decide its claim."""
    return {} if words == answer else {"colour": "open", "sign": "?", "text": words}


# --- forest plots -----------------------------------------------------------------------------------------------------


def figures(report: Report, local: bool) -> dict[str, Any]:
    """A forest plot for each paper."""
    forests = {}
    for paper, one in forest.by_paper(report.verdicts).items():
        forests[CLAIMED_BY.get(paper, TITLES[paper])] = figure(one)
    return {"forests": forests}


def figure(one: Forest) -> Figure:
    """Every comparison of a paper's claims: difference, interval, margin as a band, what was published as a mark."""
    traces = [_margins(one), *_differences(one), *_published(one)]
    ticks = {"wide": [line.label for line in one.lines], "narrow": [line.short for line in one.lines]}
    x = titled("difference of the scores, ours less the other's") | {"range": [-one.reach, one.reach], "zeroline": True}
    y = {"range": [-one.height, 1], "tickvals": [line.y for line in one.lines], "showgrid": False, "zeroline": False}
    layout = {"xaxis": x, "yaxis": y | {"automargin": True}, "height": 110 + 19 * one.height, "barmode": "overlay"}
    notes = [{"y": note.y, "text": f"<i>{note.text}</i>"} for note in one.notes]
    return {"data": traces, "layout": layout, "ticks": ticks, "heads": [*map(vars, one.heads), *notes]}


def _margins(one: Forest) -> Figure:
    return {
        "type": "bar",
        "orientation": "h",
        "name": MARGIN,
        "y": [line.y for line in one.lines],
        "base": [-line.part.matters for line in one.lines],
        "x": [2 * line.part.matters for line in one.lines],
        "width": 1,
        "hoverinfo": "skip",
        "meta": {"colour": "line"},
    }


def _differences(one: Forest) -> list[Figure]:
    """A trace for each of FORESTS: the marks of differences, and those at the edge where their intervals go beyond."""
    traces = []
    for (colour, hollow), name in FORESTS.items():
        alike = [(line, comparison) for line, comparison in run(one) if kind(line) == (colour, hollow)]
        if not alike:
            continue
        outer = [(line, comparison, x) for line, comparison in alike for x in beyond(comparison, one.reach)]
        places = [
            *(placed(comparison.difference, one.reach) for _, comparison in alike),
            *((x, True) for *_, x in outer),
        ]
        bars = [*(bar(comparison, one.reach) for _, comparison in alike), *((0.0, 0.0) for _ in outer)]
        told = [(line, comparison) for line, comparison, *_ in [*alike, *outer]]
        error = {
            "type": "data",
            "symmetric": False,
            "array": rounded([above for _, above in bars], 4),
            "arrayminus": rounded([below for below, _ in bars], 4),
            "thickness": 2,
            "width": 0,
        }
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": rounded([x for x, _ in places], 4),
                "y": [line.y for line, _ in told],
                "text": [_told(line, comparison) for line, comparison in told],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"size": 9, "symbol": [_mark(x, edge, "circle") for x, edge in places]},
                "error_x": error,
                "meta": {"colour": colour, "hollow": hollow},
            }
        )
    return traces


def run(one: Forest) -> list[tuple[Line, Comparison]]:
    """The comparisons that were run."""
    return [(line, line.comparison) for line in one.lines if line.comparison is not None]


def kind(line: Line) -> tuple[str, bool]:
    """Which of FORESTS a difference is."""
    return VERDICTS[line.answer], line.faulty


def _mark(x: float, edge: bool, within: str) -> str:
    """Plotly's name of a mark: a triangle that points outwards at the edge."""
    return ("triangle-right" if x > 0 else "triangle-left") if edge else within


def _told(line: Line, comparison: Comparison) -> str:
    difference = f"{number(comparison.difference, '+')} {interval(comparison.low, comparison.high, '+')}"
    ours = f"{difference}, seeds: {comparison.seeds}"
    return f"{line.label}<br>claimed: {line.part.expects}<br>{ours}<br>verdict: {line.answer}"


def _published(one: Forest) -> list[Figure]:
    known = [(line, line.part.published) for line in one.lines if line.part.published is not None]
    places = [placed_beside(value, one.reach) for _, value in known]
    if not known:
        return []
    symbols = [f"{_mark(x, edge, 'diamond')}-open" for x, edge in places]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{PUBLISHED} (a triangle: farther out)",
            "x": rounded([x for x, _ in places], 4),
            "y": [line.y for line, _ in known],
            "text": [f"{line.label}<br>published: {number(value, '+')}" for line, value in known],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"size": 9, "symbol": symbols},
            "meta": {"colour": "muted"},
        }
    ]


def pictures(report: Report) -> Iterator[Picture]:
    """A forest plot for each paper: a claim's statement, and below it a line for each comparison."""
    for paper, one in forest.by_paper(report.verdicts).items():
        title = TITLES[paper] if paper != RIVALS else "The field"
        yield Picture(f"claims-{paper}", f"{title}: what is claimed, and what we find", partial(draw, one))


def draw(one: Forest) -> Drawing:
    """One paper's."""
    figure, axes = canvas(9, 1.4 + 0.21 * one.height)
    at = [line.y for line in one.lines]
    margins = [line.part.matters for line in one.lines]
    axes.barh(at, [2 * size for size in margins], height=1, left=[-size for size in margins], color=BAND)
    axes.axvline(0, color="#aab3bc", linewidth=0.8)
    for line in one.lines:
        _draw_line(axes, line, one.reach)
    for text, weight in [*((head, "bold") for head in one.heads), *((note, "normal") for note in one.notes)]:
        place = (0, text.y), ("axes fraction", "data")
        axes.annotate(text.text, place[0], xycoords=place[1], va="center", fontsize="small", weight=weight)
    axes.set(xlim=(-one.reach, one.reach), ylim=(-one.height, 1))
    axes.set_yticks(at, [line.label for line in one.lines], fontsize="x-small")
    axes.set_xlabel(ABOUT_FOREST, fontsize="small")
    figure.legend(handles=_legend(one), loc="outside upper center", ncols=6, fontsize="small", frameon=False)
    return figure


def _draw_line(axes: Axes, line: Line, reach: float) -> None:
    """Our difference with its interval, and the published one."""
    if (ours := line.comparison) is not None:
        x, edge = placed(ours.difference, reach)
        colour, hollow = kind(line)
        look: dict[str, Any] = {"color": ANSWERS[colour], "markersize": 4.5} | (
            {"markerfacecolor": "white"} if hollow else {}
        )
        axes.errorbar(x, line.y, xerr=[[size] for size in bar(ours, reach)], fmt=_drawn(x, edge, "o"), **look)
        for end in beyond(ours, reach):
            axes.plot(end, line.y, _drawn(end, True, ""), **look)
    if line.part.published is not None:
        x, edge = placed_beside(line.part.published, reach)
        axes.plot(x, line.y, _drawn(x, edge, "D"), **OF_PAPERS)


def _drawn(x: float, edge: bool, within: str) -> str:
    """Matplotlib's name of a mark: a triangle that points outwards at the edge."""
    return ("<" if x < 0 else ">") if edge else within


def _legend(one: Forest) -> list[Artist]:
    """What is drawn: kinds of differences, what was published, and the band."""
    kinds, entries = {kind(line) for line, _ in run(one)}, []
    for (colour, hollow), name in FORESTS.items():
        if (colour, hollow) in kinds:
            fill = "white" if hollow else ANSWERS[colour]
            look = {"marker": "o", "markersize": 4.5, "markerfacecolor": fill, "color": ANSWERS[colour]}
            entries.append(Line2D([], [], label=name, **look))
    if any(line.part.published is not None for line in one.lines):
        entries.append(Line2D([], [], marker="D", linestyle="none", label=PUBLISHED, **OF_PAPERS))
    return [*entries, Patch(color=BAND, label=MARGIN)]


SECTION = Section(
    name="claims",
    title="Claims",
    about="every claim with its comparisons",
    markdown=render,
    numbers=(Numbers("claims.csv", lambda report: claimed.frame(report.verdicts), "%.6g", "compared"),),
    readme=lambda report: [claimed.in_short(report.verdicts)],
    pictures=pictures,
    part=Part("claims.html", values, figures),
)
