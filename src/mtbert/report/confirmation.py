"""One look at labelled test rows, after dev has fixed the answer.

The way to keep is compared with one model per task and with the best baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtbert.claims import Comparison, Verdict, ways
from mtbert.report.answer import Answer
from mtbert.report.scoreboard import Row, Scoreboard


@dataclass(frozen=True)
class Confirmed:
    """The kept way less another one, on one metric."""

    other: Row
    dev: Comparison
    test: Comparison

    @property
    def disagrees(self) -> bool:
        """Whether a difference that is proved on dev has the other sign on test, or ours is proved worse there."""
        if self.test.standing is Verdict.WORSE and not self.test.is_size_open:
            return True
        if (
            self.dev.standing not in (Verdict.BETTER, Verdict.WORSE)
            or self.dev.difference is None
            or self.test.difference is None
        ):
            return False
        return self.dev.difference.mean * self.test.difference.mean < 0


@dataclass(frozen=True)
class Confirmation:
    """What test says of an answer.

    Attributes:
        ours: the way to keep; the best one if nothing is kept.
        rows: of each way that is looked at, with scores on test.
        tasks: those with labels of test.
        comparisons: ours less each other way: the mean over tasks, or each task where some have no labels of test.
    """

    ours: Row
    rows: Sequence[Row]
    tasks: Sequence[str]
    comparisons: Sequence[Confirmed]

    @property
    def disagreements(self) -> list[Confirmed]:
        """The comparisons in which dev and test disagree."""
        return [comparison for comparison in self.comparisons if comparison.disagrees]


def look(answer: Answer) -> Confirmation | None:
    """Return what test says of an answer; None where no task has labels of test, or nothing is there to compare."""
    board = answer.board
    runs = board.budget_runs("test")
    tasks = [task for task in answer.tasks if task in runs.dev]
    metrics = [answer.metric] if len(tasks) == len(answer.tasks) else tasks
    ours = answer.shown
    best_baseline = next((way for way in answer.ways if way.is_baseline), None)
    others = [way for way in (answer.baseline, best_baseline) if way is not None and way is not ours]
    if not tasks or not others:
        return None
    compared = [(other, metric) for other in others for metric in metrics]
    parts = [answer.close(ours, other, metric) for other, metric in compared]
    on_dev, on_test = ways.judge(answer.runs, parts), ways.judge(runs, parts)
    confirmed = [
        Confirmed(other, dev, test)
        for (other, _), dev, test in zip(compared, on_dev, on_test, strict=True)
        if test.difference is not None
    ]
    rows = [_on_test(board, way) for way in (ours, *others)]
    return Confirmation(ours, rows, tasks, confirmed) if confirmed else None


def _on_test(board: Scoreboard, way: Row) -> Row:
    row = board.baseline(way.names[0], "test") if way.is_baseline else board.row(way.names, "test")
    return replace(row, label=way.label)
