"""How many steps a predicted sentiment is from the label."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from matplotlib.figure import Figure as Drawing

from mtbert.reporting import mistakes
from mtbert.reporting.figures import Figure, rounded, titled
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.pictures import Picture, canvas
from mtbert.reporting.sections.base import Part, Report, Section

TASK = "sst"
ROW_HEIGHT = 26  # pixels of a bar
STEPS_OFF = ("#2b6a99", "#a7c6dd", "#f6d9a8", "#e8965a", "#b2402a")  # right, then farther and farther off


def answers(report: Report) -> dict[str, Answers]:
    """What was said of sentiment, by variant or ensemble."""
    return report.answers.get(TASK, {})


def figure(by_variant: dict[str, Answers]) -> Figure | None:
    """A bar for each variant, the best above."""
    if not by_variant:
        return None
    shares = {name: mistakes.distances(said.confusion) for name, said in by_variant.items()}
    names = sorted(shares, key=lambda name: shares[name][0])  # plotly's first bar is the lowest
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": "right" if steps == 0 else f"{steps} off",
            "y": names,
            "x": rounded([shares[name][steps] for name in names], 4),
            "hovertemplate": "%{y}: %{x:.1%}<extra>%{fullData.name}</extra>",
            "meta": {"colour": f"s{steps}"},
        }
        for steps in range(len(shares[names[0]]))
    ]
    x = titled("share of dev rows") | {"tickformat": ".0%", "range": [0, 1]}
    size = {"height": 130 + ROW_HEIGHT * len(names)}
    return {"data": traces, "layout": {"barmode": "stack", "xaxis": x, "yaxis": {"automargin": True}, **size}}


def pictures(report: Report) -> Iterator[Picture]:
    """One picture of every variant."""
    if by_variant := answers(report):
        title = "SST-5 dev: how many steps the predicted sentiment is from the label"
        yield Picture("distances", title, partial(draw, by_variant))


def draw(by_variant: dict[str, Answers]) -> Drawing:
    """A bar a variant."""
    shares = np.array([mistakes.distances(said.confusion) for said in by_variant.values()])
    figure, axes = canvas(8, 1.2 + 0.28 * len(by_variant))
    left = np.zeros(len(by_variant))
    for steps, (share, colour) in enumerate(zip(shares.T, STEPS_OFF, strict=True)):
        axes.barh(list(by_variant), share, left=left, color=colour, label=f"{steps} off" if steps else "right")
        left += share
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of dev rows")
    axes.legend(ncols=len(STEPS_OFF), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, fontsize="small")
    return figure


SECTION = Section(
    name="distances",
    title="How far off",
    pictures=pictures,
    part=Part(
        "distances.html",
        lambda report, _: {"scored": bool(answers(report))},
        lambda report, _: {"distances": figure(answers(report))},
    ),
)
