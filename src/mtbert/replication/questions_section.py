"""What the report begins with: questions in a student's words, each answered by a difference, as rows and as a picture.

The questions are those of questions.yaml, judged like claims.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mtbert.judge import SEEDS, Verdict
from mtbert.replication import claims_section
from mtbert.replication.judging import ClaimComparison, ClaimResult
from mtbert.report import markdown
from mtbert.report.pictures import drawing
from mtbert.scores.described import UNTRAINED
from mtbert.scores.results import Results

PICTURE = "questions"
NAMED = 2  # so many questions that were not run are named, more are counted
WORDS = {Verdict.HOLDS: "yes", Verdict.FAILS: "no", Verdict.SMALL: "yes, but too little to matter"}
PUBLISHED = {  # what a paper says that prints no difference
    "higher": "better", "lower": "worse", "close": "as good", "not higher": "not better", "not lower": "not worse",
}  # fmt: skip
ABOUT = (
    "*Ours* is first minus second: the mean over seeds, with at least three seeds also its 95 % confidence interval. "
    "*Published* is the same difference in the paper, or a word where the paper prints none. An answer needs six seeds "
    "of each side. *Overall* is the mean of the accuracies on SST-5 (sentiment) and QQP (paraphrases) and of Pearson's "
    "r on STS-B (similarity); *normalised* has (r + 1) / 2 in place of r. The untrained encoder predicts pairs by the "
    "cosine of their embeddings."
)
BLUE, PALE_BLUE, RED = "#2b6a99", "#8fb6d3", "#b2402a"  # ours, ours at a third, published
EDGE = 0.06  # largest difference that the picture of differences shows; beyond, arrows
WRAP, NARROW_WRAP = 44, 56  # letters of a line beside a picture, and above the lines of a narrow one


def that_ran(questions: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Return the questions both of whose sides were run."""
    return [result for result in questions if result.verdict is not Verdict.NOT_RUN]


def rows(questions: Sequence[ClaimResult]) -> list[dict[str, str]]:
    """Return the rows: question, ours, published, answer."""
    return [_row(result) for result in questions]


def _row(result: ClaimResult) -> dict[str, str]:
    return {
        "question": question(result),
        "ours": claims_section.difference(result.comparisons[0]),
        "published": _published(result),
        "answer": _verdict(result),
    }


def _published(result: ClaimResult) -> str:
    """Return the paper's difference, or a word if it prints none, and whose it is."""
    comparison = result.comparisons[0]
    if comparison.published is not None:
        published = markdown.number(comparison.published, "+")
    else:
        published = markdown.DASH if UNTRAINED in comparison.other else PUBLISHED[comparison.expects]
    return f"{published} ({result.claim.source})" if result.claim.source else published


def _verdict(result: ClaimResult) -> str:
    """Return the verdict as a reply, or how many seeds there are of those that it needs."""
    difference = result.comparisons[0].difference
    if difference is not None and difference.lacks_seeds(SEEDS):
        return f"open: {difference.fewest_seeds} of {SEEDS} seeds"
    return WORDS.get(result.verdict) or claims_section.verdict(result)


def question(result: ClaimResult) -> str:
    """Return the question and, in brackets, the score that replies to it."""
    return f"{result.claim.statement} ({markdown.heading(result.comparisons[0].metric)})"


def render(results: Results, questions: Sequence[ClaimResult], pictures: str) -> str:
    """Return picture and rows as Markdown, where `pictures` is the picture's folder; empty if no question ran."""
    ran = that_ran(questions)
    if not ran:
        return ""
    lines, every = rows(ran), rows(questions)
    picture = f"![Differences with their intervals, and the published ones]({pictures}/{PICTURE}.png)"
    about = f"{ABOUT} {claims_section.contamination(results)}".strip()
    absent = [row["question"] for row in every if row not in lines]
    if len(absent) > NAMED:
        about += f" {len(absent)} more questions: not run."
    elif absent:
        about += f" Not run, and open with 0 of {SEEDS} seeds: *{'*; *'.join(absent)}*."
    return "\n\n".join(filter(None, [picture, markdown.lined(lines), about]))


def draw(results: Sequence[ClaimResult], folder: Path) -> None:
    """Draw the picture of the questions that ran into a report's folder; the report's first section shows it."""
    ran = that_ran(results)
    if ran:
        comparisons = {question(result): result.comparisons[0] for result in ran}
        drawing.put(_drawn(comparisons), folder, PICTURE, "", "", dots=2 * 72)
        drawing.put_narrow(_drawn(comparisons, is_narrow=True), folder, PICTURE)


def _drawn(comparisons: dict[str, ClaimComparison], is_narrow: bool = False) -> Figure:
    """A line for each comparison, by label: ours with its interval, and what it is to be held against."""
    figure = drawing.empty(1.2 + 0.42 * len(comparisons))
    if is_narrow:
        figure = drawing.empty(1.6 + 0.75 * len(comparisons), drawing.NARROW)
    axes = figure.subplots()
    for height, comparison in enumerate(comparisons.values()):
        _draw_comparison(axes, height, comparison, band=0.5 if is_narrow else 0.8)
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    drawing.label_lines(
        axes, [textwrap.fill(label, NARROW_WRAP if is_narrow else WRAP) for label in comparisons], is_narrow
    )
    axes.set_xlim(-1.12 * EDGE, 1.12 * EDGE)
    axes.set_xticks(np.linspace(-EDGE, EDGE, 7))
    axes.xaxis.set_major_formatter(lambda x, _: markdown.number(x, "+", 2) if round(x, 3) else "0")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    between = "\n" if is_narrow else " "
    axes.set_xlabel(f"ours: the first side less the second;{between}right of 0, the first is better", fontsize="small")
    marks, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, marks, strict=True))  # each kind of mark once
    figure.legend(
        by_label.values(),
        by_label.keys(),
        loc="outside upper center",
        ncols=2 if is_narrow else 6,
        frameon=False,
        fontsize="small",
    )
    return figure


def _draw_comparison(axes: Axes, height: int, comparison: ClaimComparison, band: float) -> None:
    """Draw the line of a comparison: the margin as a band so high, the published difference, and ours if it was run."""
    margin, difference = comparison.margin, comparison.difference
    axes.barh(height, 2 * margin, band, -margin, color="0.9", zorder=0, label="too little to matter")
    hollow = {"label": "published", "markersize": 7, "fillstyle": "none"}
    _mark(axes, comparison.published, height, "D", RED, beyond=height + 0.25, **hollow)
    if difference is None:
        return
    if comparison.third is not None:
        _mark(axes, comparison.third, height, "o", PALE_BLUE, label="at a third of the training", markersize=6)
    if difference.interval:
        ends = np.clip(difference.interval, -1.06 * EDGE, 1.06 * EDGE)
        axes.plot(ends, [height, height], color=BLUE, linewidth=2, label="95 % interval")
    _mark(axes, difference.mean, height, "o", BLUE, beyond=height - 0.25, label="ours", markersize=7)


def _mark(
    axes: Axes, value: float | None, height: float, marker: str, colour: str, beyond: float | None = None, **look: Any
) -> None:
    """Draw a value; past the edge an arrow with its number, at the height `beyond`."""
    if value is None:
        return
    if abs(value) <= EDGE:
        axes.plot(value, height, marker, color=colour, **look)
        return
    if beyond is not None:
        height = beyond
    side, arrow, align = (1, ">", "right") if value > 0 else (-1, "<", "left")
    axes.plot(side * EDGE * 1.06, height, arrow, color=colour, markersize=7)
    number = markdown.number(value, "+", 2)
    axes.text(side * EDGE * 1.02, height, number, ha=align, va="center", color=colour, fontsize="small")
