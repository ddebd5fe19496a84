"""Each way to train all tasks against one model per task, with its interval."""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mtbert.judge import Answer
from mtbert.report import markdown
from mtbert.report.pictures import drawing


def render(answer: Answer, folder: Path) -> str:
    """Draw the picture into a report's folder; return it as Markdown, empty if one model per task was not trained."""
    if not answer.against_single_task:
        return ""
    drawing.put_narrow(_drawn(answer, is_narrow=True), folder, "answer")
    return drawing.put(_drawn(answer), folder, "answer", "", "Each way, and its difference to one model per task")


def _drawn(answer: Answer, is_narrow: bool = False) -> Figure:
    """A line for each way: its difference from one model per task with its interval; grey is too little to matter."""
    comparisons = answer.against_single_task_by_label
    differences = {label: comparison.difference for label, comparison in comparisons.items() if comparison.difference}
    figure = drawing.empty(1.0 + 0.32 * len(differences))
    if is_narrow:
        figure = drawing.empty(1.0 + 0.45 * len(differences), drawing.NARROW)
    axes = figure.subplots()
    axes.axvspan(-answer.margin, answer.margin, color="0.9", zorder=0)
    for height, difference in enumerate(differences.values()):
        if difference.interval:
            axes.plot(difference.interval, [height, height], color=drawing.PALETTE[0], linewidth=2)
        axes.plot(difference.mean, height, "o", color=drawing.PALETTE[0], markersize=7)
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    drawing.label_lines(axes, [*map(drawing.short, differences)], is_narrow)
    axes.xaxis.set_major_formatter(lambda x, _: markdown.number(x, "+") if round(x, 4) else "0")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if is_narrow:
        axes.xaxis.set_major_locator(MaxNLocator(4))
    between = "\n" if is_narrow else " "
    axes.set_xlabel(f"mean minus that of one model per task;{between}right of 0 is better, grey too little to matter")
    return figure
