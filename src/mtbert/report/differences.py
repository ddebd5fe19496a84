"""How variants of one's own differ from the others that were trained beside them."""

from collections.abc import Iterator

from mtbert import claims
from mtbert.claims import BudgetRuns
from mtbert.report import markdown
from mtbert.report.study import Study
from mtbert.results.metrics import means
from mtbert.results.tables import OWN, shown
from mtbert.stats import Difference
from mtbert.stats.differences import LEAST_SEEDS
from mtbert.tasks import main

TITLE = "Differences of one's own variants"
ABOUT = (
    "First minus second on the same rows of dev: the mean over seeds, and its 95 % interval where each side has "
    f"{LEAST_SEEDS} seeds. A difference whose interval holds 0 may be chance."
)


def find(study: Study) -> dict[tuple[str, str], dict[str, Difference]]:
    """Return the differences, by metric, of each variant of one's own and each other one that shares a task with it.

    Of two of one's own the later one in the results comes first.
    """
    runs = claims.of_results(study.results)
    by_pair = {pair: _between(study, runs, *pair) for pair in _pairs(study)}
    return {pair: differences for pair, differences in by_pair.items() if differences}


def _pairs(study: Study) -> Iterator[tuple[str, str]]:
    names = [*study.about]
    for place, own in enumerate(names):
        if study.about[own].paper == OWN:
            earlier = names[:place]
            yield from ((own, other) for other in names if study.about[other].paper != OWN or other in earlier)


def _between(study: Study, runs: BudgetRuns, own: str, other: str) -> dict[str, Difference]:
    shared = [
        task for task in study.results.tasks if task in study.about[own].tasks and task in study.about[other].tasks
    ]
    metrics = [*shared, *(means(study.results.tasks) if {*main(study.results.tasks)} <= {*shared} else ())]
    compared = {metric: runs.compare((own,), (other,), metric) for metric in metrics}
    return {metric: difference for metric, difference in compared.items() if difference is not None}


def lines(study: Study) -> list[dict[str, str]]:
    """Return a line for each pair."""
    by_pair = find(study)
    tasks = study.results.tasks
    metrics = [metric for metric in shown(tasks) if any(metric in differences for differences in by_pair.values())]
    return [
        {"": f"{own} {markdown.MINUS} {other}"}
        | {markdown.heading(metric, tasks): _cell(differences.get(metric)) for metric in metrics}
        for (own, other), differences in by_pair.items()
    ]


def _cell(difference: Difference | None) -> str:
    return markdown.DASH if difference is None else markdown.estimate(difference.mean, difference.interval, "+")


def render(study: Study) -> str:
    """Return the section's text as Markdown; empty without variants of one's own."""
    grid = markdown.lined([{key: markdown.literal(cell) for key, cell in line.items()} for line in lines(study)])
    return f"### {TITLE}\n\n{ABOUT}\n\n{grid}" if grid else ""
