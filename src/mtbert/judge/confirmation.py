"""One look at labelled test rows, after dev has fixed the answer.

The way to keep is compared with one model per task and with the best baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtbert.judge.answer import Answer
from mtbert.judge.rows import Row, Scoreboard
from mtbert.judge.rule import Comparison, Verdict, compare_ways


@dataclass(frozen=True)
class Confirmation:
    """What test says of an answer.

    Attributes:
        rows: of each way that is looked at, with scores on test; first the way to keep, or the best if nothing is kept.
        on_test: the first less each other way: the mean over tasks, or each task where some have no labels of test.
        on_dev: the same on dev.
    """

    rows: Sequence[Row]
    on_test: Sequence[Comparison]
    on_dev: Sequence[Comparison]

    @property
    def disagreements(self) -> list[tuple[Comparison, Comparison]]:
        """The comparisons in which dev and test disagree: each on dev, and on test."""
        return [pair for pair in zip(self.on_dev, self.on_test, strict=True) if _disagree(*pair)]

    def other(self, comparison: Comparison) -> Row:
        """Return the row that the first one is compared with."""
        return next(row for row in self.rows if row.names == comparison.other)


def _disagree(dev: Comparison, test: Comparison) -> bool:
    """Return whether a difference that is proved on dev has the other sign on test, or ours is proved worse there."""
    if dev.difference is None or test.difference is None:
        return False
    if test.verdict is Verdict.FAILS and test.difference.mean < 0:
        return True
    is_proved = dev.verdict in (Verdict.FAILS, Verdict.BETTER, Verdict.WORSE)
    return is_proved and dev.difference.mean * test.difference.mean < 0


def look(answer: Answer, board: Scoreboard) -> Confirmation | None:
    """Return what test says of an answer; None where no task has labels of test, or nothing is there to compare."""
    runs = board.budget_runs("test")
    tasks = [task for task in answer.tasks if task in runs.dev]
    metrics = [answer.metric] if len(tasks) == len(answer.tasks) else tasks
    ours = answer.kept or answer.best
    baselines = [way for way in answer.ways if way.is_baseline]
    best_baseline = next((way for way in baselines if {*tasks} <= {*_on_test(board, way).scores}), None)
    others = [way for way in (answer.single_task, best_baseline) if way is not None and way is not ours]
    if not tasks or not others:
        return None
    looks = [answer.compared(ours, other, metric) for other in others for metric in metrics]
    on_test, on_dev = compare_ways(runs, looks), compare_ways(board.budget_runs(), looks)
    compared = [number for number, test in enumerate(on_test) if test.difference is not None]
    if not compared:
        return None
    rows = [_on_test(board, way) for way in (ours, *others)]
    return Confirmation(rows, [on_test[number] for number in compared], [on_dev[number] for number in compared])


def _on_test(board: Scoreboard, way: Row) -> Row:
    return replace(board.row(way.names, "test"), label=way.label)
