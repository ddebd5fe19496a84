"""One look at labelled test rows, after dev has fixed the answer.

The way to keep is compared with one model per task and with the best baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtbert.judge import ways
from mtbert.judge.answer import Answer
from mtbert.judge.comparison import Comparison
from mtbert.judge.rows import Row
from mtbert.judge.rule import Verdict
from mtbert.judge.scoreboard import Scoreboard


@dataclass(frozen=True)
class Confirmed:
    """The kept way less another one, on one metric."""

    dev: Comparison
    test: Comparison

    @property
    def disagrees(self) -> bool:
        """Whether a difference that is proved on dev has the other sign on test, or ours is proved worse there."""
        dev, test = self.dev.difference, self.test.difference
        if dev is None or test is None:
            return False
        if self.test.verdict is Verdict.FAILS and test.mean < 0:
            return True
        return self.dev.verdict in (Verdict.FAILS, Verdict.BETTER, Verdict.WORSE) and dev.mean * test.mean < 0


@dataclass(frozen=True)
class Confirmation:
    """What test says of an answer.

    Attributes:
        rows: of each way that is looked at, with scores on test; first the way to keep, or the best if nothing is kept.
        comparisons: the first less each other way: the mean over tasks, or each task where some have no labels of test.
    """

    rows: Sequence[Row]
    comparisons: Sequence[Confirmed]

    @property
    def disagreements(self) -> list[Confirmed]:
        """The comparisons in which dev and test disagree."""
        return [comparison for comparison in self.comparisons if comparison.disagrees]

    def other(self, comparison: Confirmed) -> Row:
        """Return the row that the first one is compared with."""
        return next(row for row in self.rows if row.names == comparison.test.part.other)


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
    parts = [answer.compared(ours, other, metric) for other in others for metric in metrics]
    on_dev, on_test = ways.judge(board.budget_runs(), parts), ways.judge(runs, parts)
    confirmed = [Confirmed(dev, test) for dev, test in zip(on_dev, on_test, strict=True) if test.difference is not None]
    rows = [_on_test(board, way) for way in (ours, *others)]
    return Confirmation(rows, confirmed) if confirmed else None


def _on_test(board: Scoreboard, way: Row) -> Row:
    row = board.baseline(way.names[0], "test") if way.is_baseline else board.row(way.names, "test")
    return replace(row, label=way.label)
