"""How variants of one's own differ from the others that were trained beside them."""

from collections.abc import Iterator

from mtbert import claims
from mtbert.claims import Comparison, Part
from mtbert.report import markdown
from mtbert.report.scoreboard import Scoreboard
from mtbert.scores.columns import shown_metrics
from mtbert.scores.described import OWN
from mtbert.scores.metrics import means
from mtbert.stats import LEAST_SEEDS
from mtbert.tasks import main

TITLE = "Differences of one's own variants"
ABOUT = (
    "First minus second on the same rows of dev: the mean over seeds, and its 95 % interval where each side has "
    f"{LEAST_SEEDS} seeds. A difference whose interval holds 0 may be chance."
)


def find(board: Scoreboard) -> list[list[Comparison]]:
    """Return a list for each variant of one's own and each other one that shares a task with it: a comparison a metric.

    Of two of one's own the later one in the results comes first.
    """
    by_pair = [_between(board, own, other) for own, other in _pairs(board)]
    return [comparisons for comparisons in by_pair if comparisons]


def _pairs(board: Scoreboard) -> Iterator[tuple[str, str]]:
    names = [*board.about]
    are_own = {name: about.paper == OWN for name, about in board.about.items()}
    for number, own in enumerate(names):
        if are_own[own]:
            earlier = names[:number]
            yield from ((own, other) for other in names if not are_own[other] or other in earlier)


def _between(board: Scoreboard, own: str, other: str) -> list[Comparison]:
    """Return the comparisons of two variants that were run; their sides may differ in anything, so they have no p."""
    tasks, margins = board.results.tasks, claims.margins(board.results.tasks)
    shared_tasks = {*board.about[own].tasks} & {*board.about[other].tasks}
    metrics = [task for task in tasks if task in shared_tasks]
    if {*main(tasks)} <= shared_tasks:
        metrics += means(tasks)
    comparisons: list[Comparison] = []
    for metric in metrics:
        difference = board.budget_runs().compare((own,), (other,), metric)
        if difference is not None:
            part = Part(ours=(own,), other=(other,), metric=metric, margin=margins[metric], expects="close")
            comparisons.append(Comparison(part, "", difference))
    return comparisons


def lines(board: Scoreboard) -> list[dict[str, str]]:
    """Return a line for each pair, with a column for each metric that any pair has."""
    tasks, by_pair = board.results.tasks, find(board)
    compared = {comparison.part.metric for comparisons in by_pair for comparison in comparisons}
    metrics = [metric for metric in shown_metrics(tasks) if metric in compared]
    lines: list[dict[str, str]] = []
    for comparisons in by_pair:
        (own,), (other,) = comparisons[0].part.ours, comparisons[0].part.other
        differences = {comparison.part.metric: comparison.difference for comparison in comparisons}
        cells = {"": f"{own} {markdown.MINUS} {other}"}
        for metric in metrics:
            cells[markdown.heading(metric, tasks)] = markdown.estimate(differences.get(metric), "+")
        lines.append(cells)
    return lines


def render(board: Scoreboard) -> str:
    """Return the section's text as Markdown; empty without variants of one's own."""
    literal_lines = [{key: markdown.literal(cell) for key, cell in line.items()} for line in lines(board)]
    table = markdown.lined(literal_lines)
    return f"### {TITLE}\n\n{ABOUT}\n\n{table}" if table else ""
