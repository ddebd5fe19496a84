"""How variants of one's own differ from the others that were trained beside them."""

from collections.abc import Iterator
from typing import NamedTuple

from mtbert.claims import BudgetRuns
from mtbert.report import markdown
from mtbert.report.scoreboard import Scoreboard
from mtbert.results.columns import shown_metrics
from mtbert.results.described import OWN
from mtbert.results.metrics import means
from mtbert.stats import LEAST_SEEDS, Difference
from mtbert.tasks import main

TITLE = "Differences of one's own variants"
ABOUT = (
    "First minus second on the same rows of dev: the mean over seeds, and its 95 % interval where each side has "
    f"{LEAST_SEEDS} seeds. A difference whose interval holds 0 may be chance."
)


class OwnPair(NamedTuple):
    """A variant of one's own, and another that it is compared with."""

    own: str
    other: str


def find(board: Scoreboard) -> dict[OwnPair, dict[str, Difference]]:
    """Return the differences, by metric, of each variant of one's own and each other one that shares a task with it.

    Of two of one's own the later one in the results comes first.
    """
    runs = board.budget_runs()
    by_pair = {pair: _between(board, runs, pair) for pair in _pairs(board)}
    return {pair: differences for pair, differences in by_pair.items() if differences}


def _pairs(board: Scoreboard) -> Iterator[OwnPair]:
    names = [*board.about]
    are_own = {name: about.paper == OWN for name, about in board.about.items()}
    for number, own in enumerate(names):
        if are_own[own]:
            earlier = names[:number]
            yield from (OwnPair(own, other) for other in names if not are_own[other] or other in earlier)


def _between(board: Scoreboard, runs: BudgetRuns, pair: OwnPair) -> dict[str, Difference]:
    tasks = board.results.tasks
    shared_tasks = {*board.about[pair.own].tasks} & {*board.about[pair.other].tasks}
    metrics = [task for task in tasks if task in shared_tasks]
    if {*main(tasks)} <= shared_tasks:
        metrics += means(tasks)
    differences: dict[str, Difference] = {}
    for metric in metrics:
        difference = runs.compare((pair.own,), (pair.other,), metric)
        if difference is not None:
            differences[metric] = difference
    return differences


def lines(board: Scoreboard) -> list[dict[str, str]]:
    """Return a line for each pair, with a column for each metric that any pair has."""
    tasks, by_pair = board.results.tasks, find(board)
    compared = {metric for differences in by_pair.values() for metric in differences}
    metrics = [metric for metric in shown_metrics(tasks) if metric in compared]
    lines: list[dict[str, str]] = []
    for pair, differences in by_pair.items():
        cells = {"": f"{pair.own} {markdown.MINUS} {pair.other}"}
        for metric in metrics:
            cells[markdown.heading(metric, tasks)] = markdown.estimate(differences.get(metric), "+")
        lines.append(cells)
    return lines


def render(board: Scoreboard) -> str:
    """Return the section's text as Markdown; empty without variants of one's own."""
    literal_lines = [{key: markdown.literal(cell) for key, cell in line.items()} for line in lines(board)]
    table = markdown.lined(literal_lines)
    return f"### {TITLE}\n\n{ABOUT}\n\n{table}" if table else ""
