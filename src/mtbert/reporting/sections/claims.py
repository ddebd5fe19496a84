"""What the papers claim, and what our runs say of it."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.figure import Figure as Drawing

from mtbert.reporting import claimed, forest, needed
from mtbert.reporting.claims import Answer, Comparison, Verdict
from mtbert.reporting.figures import NAMES, Figure, rounded, titled
from mtbert.reporting.forest import COLOURS as VERDICTS
from mtbert.reporting.forest import Forest, Line, placed
from mtbert.reporting.markdown import interval, number
from mtbert.reporting.pictures import Picture, canvas
from mtbert.reporting.published import RIVALS, TITLES
from mtbert.reporting.sections.base import Numbers, Part, Report, Section

FORESTS = {"yes": "holds", "no": "does not hold", "open": "cannot be told"}  # colours of differences, and their names
CLAIMED_BY = {RIVALS: "The field, of PALs and their rivals"}
ANSWERS = {"yes": "#0b6b50", "no": "#a23a12", "open": "#c08400", "none": "#5a6673"}  # by the colour of a verdict
ABOUT_FOREST = (
    "ours less the other's; green: holds, red: does not, yellow: cannot be told; in brackets: not counted\n"
    "grey band: less than what matters; hollow: published; a triangle: farther out"
)


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
    "cannot be told: training made a task worse": Badge("open", "?", "made worse"),
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
    return {"data": traces, "layout": layout, "ticks": ticks, "heads": [vars(head) for head in one.heads]}


def _margins(one: Forest) -> Figure:
    return {
        "type": "bar",
        "orientation": "h",
        "name": "less than what matters",
        "y": [line.y for line in one.lines],
        "base": [-line.part.matters for line in one.lines],
        "x": [2 * line.part.matters for line in one.lines],
        "width": 1,
        "hoverinfo": "skip",
        "meta": {"colour": "line"},
    }


def _differences(one: Forest) -> list[Figure]:
    """A trace a colour, which the verdicts on the comparisons have."""
    run = [(line, line.comparison) for line in one.lines if line.comparison is not None]
    traces = []
    for colour, name in FORESTS.items():
        coloured = [(line, comparison) for line, comparison in run if VERDICTS[line.answer] == colour]
        if coloured:
            places = [placed(comparison.difference, one.reach) for _, comparison in coloured]
            bars = [(0.0, 0.0) if edge else ends(c) for (_, edge), (_, c) in zip(places, coloured, strict=True)]
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
                    "y": [line.y for line, _ in coloured],
                    "text": [_told(line, comparison) for line, comparison in coloured],
                    "hovertemplate": "%{text}<extra></extra>",
                    "marker": {"size": 9, "symbol": [_mark(x, edge, "circle") for x, edge in places]},
                    "error_x": error,
                    "meta": {"colour": colour},
                }
            )
    return traces


def ends(one: Comparison) -> tuple[float, float]:
    """How far its interval goes below and above a difference."""
    return one.difference - one.low, one.high - one.difference


def _mark(x: float, edge: bool, within: str) -> str:
    """Plotly's name of a mark: a triangle that points outwards at the edge."""
    return ("triangle-right" if x > 0 else "triangle-left") if edge else within


def _told(line: Line, comparison: Comparison) -> str:
    difference = f"{number(comparison.difference, '+')} {interval(comparison.low, comparison.high, '+')}"
    ours = f"{difference}, seeds: {comparison.seeds}"
    return f"{line.label}<br>claimed: {line.part.expects}<br>{ours}<br>verdict: {line.answer}"


def _published(one: Forest) -> list[Figure]:
    known = [(line, line.part.published) for line in one.lines if line.part.published is not None]
    places = [placed(value, one.reach) for _, value in known]
    if not known:
        return []
    symbols = [_mark(x, edge, "diamond-open") for x, edge in places]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "published (a triangle: farther out)",
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
    figure, axes = canvas(9, 1.2 + 0.21 * one.height)
    at = [line.y for line in one.lines]
    margins = [line.part.matters for line in one.lines]
    axes.barh(at, [2 * size for size in margins], height=1, left=[-size for size in margins], color="#e4e8ec")
    axes.axvline(0, color="#aab3bc", linewidth=0.8)
    for line in one.lines:
        if (comparison := line.comparison) is not None:
            x, edge = placed(comparison.difference, one.reach)
            below, above = (0.0, 0.0) if edge else ends(comparison)
            mark, colour = ("<" if x < 0 else ">") if edge else "o", ANSWERS[VERDICTS[line.answer]]
            axes.errorbar(x, line.y, xerr=[[below], [above]], fmt=mark, markersize=4.5, color=colour)
        if line.part.published is not None:
            x, edge = placed(line.part.published, one.reach)
            mark = ("<" if x < 0 else ">") if edge else "D"
            axes.plot(x, line.y, mark, markersize=5, markerfacecolor="none", color="#5a6673")
    for head in one.heads:
        axes.annotate(
            head.text, (0, head.y), xycoords=("axes fraction", "data"), va="center", fontsize="small", weight="bold"
        )
    axes.set(xlim=(-one.reach, one.reach), ylim=(-one.height, 1))
    axes.set_yticks(at, [line.label for line in one.lines], fontsize="x-small")
    axes.set_xlabel(ABOUT_FOREST, fontsize="small")
    return figure


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
