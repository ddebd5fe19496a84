"""What models get wrong: how far off they are on SST-5, and the rows that most of them miss."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from mtbert.report import markdown
from mtbert.report.pictures import drawing
from mtbert.report.sentences import Sentences
from mtbert.report.study import Study
from mtbert.results.tables import PICTURED, Frame
from mtbert.tasks import COURSE, main

WORST = 5  # rows of each task
STEPS = ("#d5dde5", "#f3c183", "#df8136", "#a8431a", "#57190a")  # right, then one to four steps off; ever darker
ABOUT = (
    f"How many steps the predicted class of {COURSE[PICTURED].title} is from the label, as a share of dev rows over "
    "all seeds. Beside the bar: how many of the misses are one step off."
)
ABOUT_WORST = (
    "The rows that models are farthest from, on average over all runs and votes; of as far ones, the first in dev."
)
HIDDEN = (
    "Sentences are shown of the sample, and of other data where `show_sentences` in params.yaml is true; evidence has "
    "none."
)


def render(study: Study, folder: Path, sentences: Sentences) -> str:
    """Draw the picture into a report's folder; return it and the worst misses as Markdown, empty without any."""
    found = distances(study)
    told = f"Shares of {COURSE[PICTURED].title} predictions by their distance from the label"
    parts = [drawing.put(_drawn(found), folder, "misses", ABOUT, told)] if found else []
    tables = []
    for task in main(study.results.tasks):
        if lines := _lines(worst(study, task), task, sentences):
            tables += [f"**{study.results.tasks[task].shown}**", markdown.lined(lines)]
    if tables:
        parts += [ABOUT_WORST if sentences else f"{ABOUT_WORST} {HIDDEN}", *tables]
    return "\n\n".join(parts)


def distances(study: Study) -> dict[str, np.ndarray]:
    """Return by variant the share of dev rows whose predicted class is 0, 1, ... steps from the label, [classes]."""
    if study.results.tasks.get(PICTURED) != COURSE[PICTURED]:
        return {}
    predicted = _scored(study, PICTURED)
    off = (predicted["prediction"] - predicted["label"]).abs().astype(int)
    counts = predicted.assign(off=off).groupby(["variant", "off"], observed=True).size().unstack(fill_value=0)
    counts = counts.reindex(columns=range(COURSE[PICTURED].classes), fill_value=0)
    every = {name: counts.loc[name].to_numpy() for name in study.about if name in counts.index}
    return {name: of_variant / of_variant.sum() for name, of_variant in every.items()}


def within_one(shares: np.ndarray) -> float | None:
    """Return the share of misses that are one step off, of what `distances` returns; None without a miss."""
    return float(shares[1] / shares[1:].sum()) if shares[1:].any() else None


def worst(study: Study, task: str) -> Frame:
    """Return the dev rows that models are farthest from on average, the farthest first.

    Returns:
        By number of the row: id, label, the mean prediction, and `off`, the mean distance from the label. No row that
        all predict.
    """
    predicted = _scored(study, task)
    predicted = predicted.assign(off=(predicted["prediction"] - predicted["label"]).abs())
    rows = predicted.groupby("row").agg({"id": "first", "label": "first", "prediction": "mean", "off": "mean"})
    return rows[rows["off"] > 0].sort_values("off", ascending=False, kind="stable").head(WORST)


def _scored(study: Study, task: str) -> Frame:
    """Return the predictions of dev rows that count."""
    every = study.results.predictions
    return every[(every["task"] == task) & (every["split"] == "dev") & every["scored"] & every["label"].notna()]


def _lines(rows: Frame, task: str, sentences: Sentences) -> list[dict[str, str]]:
    texts = sentences.get(task)
    lines = []
    for number, row in zip(rows.index.tolist(), rows.to_dict("records"), strict=True):
        text = str(row["id"] if texts is None else texts[number])
        numbers = {"label": f"{row['label']:g}", "predicted, mean": markdown.number(row["prediction"], decimals=2)}
        off = {"off by": markdown.number(row["off"], decimals=2)}
        lines.append({"id" if texts is None else "sentences": markdown.literal(text)} | numbers | off)
    return lines


def _drawn(found: dict[str, np.ndarray]) -> Figure:
    figure = drawing.empty(1.1 + 0.27 * len(found))
    axes = figure.subplots()
    left = np.zeros(len(found))
    for steps, colour in enumerate(STEPS):
        share = np.array([of_variant[steps] for of_variant in found.values()])
        axes.barh([*found], share, 0.8, left, color=colour, label=f"{steps} off" if steps else "right")
        left += share
    axes.text(1.01, -0.8, "of misses", fontsize="small")
    for at, shares in enumerate(found.values()):
        share = within_one(shares)
        said = markdown.DASH if share is None else f"{100 * share:.0f} %"
        axes.text(1.01, at, said, va="center")
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=len(STEPS), frameon=False)
    return figure
