"""How variants of one's own differ from the others that were trained beside them."""

import itertools

from mtbert.judge import Judgement
from mtbert.report import markdown
from mtbert.scores.columns import shown_metrics
from mtbert.stats import LEAST_SEEDS

TITLE = "Differences of one's own variants"
ABOUT = (
    "First minus second on the same rows of dev: the mean over seeds, and its 95 % interval where each side has "
    f"{LEAST_SEEDS} seeds. A difference whose interval holds 0 may be chance."
)


def lines(judgement: Judgement) -> list[dict[str, str]]:
    """Return a line for each pair, with a column for each metric that any pair has."""
    tasks = judgement.results.tasks
    compared = {comparison.metric for comparison in judgement.catalog}
    metrics = [metric for metric in shown_metrics(tasks) if metric in compared]
    lines: list[dict[str, str]] = []
    for (ours, other), pair in itertools.groupby(judgement.catalog, lambda one: (one.ours, one.other)):
        differences = {comparison.metric: comparison.difference for comparison in pair}
        cells = {"": f"{' + '.join(ours)} {markdown.MINUS} {' + '.join(other)}"}
        for metric in metrics:
            cells[markdown.heading(metric, tasks)] = markdown.estimate(differences.get(metric), "+")
        lines.append(cells)
    return lines


def render(judgement: Judgement) -> str:
    """Return the section's text as Markdown; empty without variants of one's own."""
    literal_lines = [{key: markdown.literal(cell) for key, cell in line.items()} for line in lines(judgement)]
    table = markdown.lined(literal_lines)
    return f"### {TITLE}\n\n{ABOUT}\n\n{table}" if table else ""
