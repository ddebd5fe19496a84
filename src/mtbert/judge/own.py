"""How variants of one's own differ from the others that were trained beside them."""

from collections.abc import Iterator

from mtbert.judge.comparison import Comparison
from mtbert.judge.parts import Part, margins
from mtbert.judge.scoreboard import Scoreboard
from mtbert.scores.described import CATALOG
from mtbert.scores.metrics import means
from mtbert.scores.results import Results
from mtbert.tasks import main


def compare(board: Scoreboard) -> list[Comparison]:
    """Return the comparisons of each variant of one's own and each other one, on each metric that both have.

    Their sides may differ in anything, so they have no p. Of two of one's own the later one in the results comes first.
    """
    results, comparisons = board.results, list[Comparison]()
    margin_by_metric = margins(results.tasks)
    for own, other in _pairs(results):
        for metric in _shared_metrics(results, own, other):
            difference = board.budget_runs().compare((own,), (other,), metric)
            if difference is not None:
                margin = margin_by_metric[metric]
                part = Part(ours=(own,), other=(other,), metric=metric, margin=margin, expects="close")
                comparisons.append(Comparison(part, "", difference))
    return comparisons


def _pairs(results: Results) -> Iterator[tuple[str, str]]:
    names = [*results.about]
    are_own = {name: about.paper == CATALOG for name, about in results.about.items()}
    for number, own in enumerate(names):
        if are_own[own]:
            earlier = names[:number]
            yield from ((own, other) for other in names if not are_own[other] or other in earlier)


def _shared_metrics(results: Results, own: str, other: str) -> list[str]:
    """Return the tasks that both models have, and the means if these are all."""
    tasks = results.tasks
    shared_tasks = {*results.about[own].tasks} & {*results.about[other].tasks}
    metrics = [task for task in tasks if task in shared_tasks]
    return [*metrics, *means(tasks)] if {*main(tasks)} <= shared_tasks else metrics
