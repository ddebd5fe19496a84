"""How far off models are on SST-5: the steps from the predicted class to the label."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from mtbert.report import markdown
from mtbert.report.pictures import drawing
from mtbert.scores.points import PICTURED
from mtbert.scores.results import Results
from mtbert.tasks import COURSE

STEPS = ("#d5dde5", "#f3c183", "#df8136", "#a8431a", "#57190a")  # right, then one to four steps off; ever darker
ABOUT = (
    f"How many steps the predicted class of {COURSE[PICTURED].title} is from the label, as a share of dev rows over "
    "all seeds. Beside the bar: how many of the misses are one step off."
)


def render(results: Results, folder: Path) -> str:
    """Draw the picture into a report's folder; return it as Markdown, empty where SST-5 is none of the tasks."""
    shares = distances(results)
    alt = f"Shares of {COURSE[PICTURED].title} predictions by their distance from the label"
    return drawing.put(_drawn(shares), folder, "misses", ABOUT, alt) if shares else ""


def distances(results: Results) -> dict[str, np.ndarray]:
    """Return by variant the share of dev rows whose predicted class is 0, 1, ... steps from the label, [classes]."""
    if results.tasks.get(PICTURED) != COURSE[PICTURED]:
        return {}
    predicted = results.scored(PICTURED)
    steps = (predicted["prediction"] - predicted["label"]).abs().astype(int)
    counts = predicted.assign(steps=steps).groupby(["variant", "steps"], observed=True).size().unstack(fill_value=0)
    counts = counts.reindex(columns=range(COURSE[PICTURED].classes), fill_value=0)
    shares: dict[str, np.ndarray] = {}
    for name in results.about:
        if name in counts.index:
            step_counts = counts.loc[name].to_numpy()
            shares[name] = step_counts / step_counts.sum()
    return shares


def within_one(shares: np.ndarray) -> float | None:
    """Return the share of misses that are one step off, of what `distances` returns; None without a miss."""
    return float(shares[1] / shares[1:].sum()) if shares[1:].any() else None


def _drawn(shares_by_variant: dict[str, np.ndarray]) -> Figure:
    figure = drawing.empty(1.1 + 0.27 * len(shares_by_variant))
    axes = figure.subplots()
    left = np.zeros(len(shares_by_variant))
    for steps, colour in enumerate(STEPS):
        share = np.array([shares[steps] for shares in shares_by_variant.values()])
        axes.barh([*shares_by_variant], share, 0.8, left, color=colour, label=f"{steps} off" if steps else "right")
        left += share
    axes.text(1.01, -0.8, "of misses", fontsize="small")
    for height, shares in enumerate(shares_by_variant.values()):
        share = within_one(shares)
        label = markdown.DASH if share is None else f"{100 * share:.0f} %"
        axes.text(1.01, height, label, va="center")
    axes.set_ylim(len(shares_by_variant) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=len(STEPS), frameon=False)
    return figure
