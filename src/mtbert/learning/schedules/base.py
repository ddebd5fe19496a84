"""What a schedule is."""

from typing import Any

from mtbert.learning.states import Stateful


class Schedule(Stateful):
    """A factor on the phase's learning rate for each step. Built from (settings,).

    Attributes:
        needs_dev: whether it needs dev scores, so that `run.evaluations` has to be 1 or more.
        without_dev: the setting with which it needs none, for messages; every schedule that may need them names one.
    """

    needs_dev = False
    without_dev = ""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def factor(self, step: int, steps: int) -> float:
        """Return the factor for step `step` (0, 1, ...) of `steps`; here, 1."""
        return 1.0

    def observe(self, dev: float | None, loss: float) -> None:
        """Called after each epoch, before the factor of the next one's first step.

        Args:
            dev: the mean score of the phase's tasks on the half of dev that is not scored in the end (on all of dev
                where `run.selection` is whole); None where dev was not scored.
            loss: the mean over the tasks of their mean loss in the epoch.
        """
