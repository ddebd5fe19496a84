"""What a schedule is."""

from collections.abc import Mapping
from typing import Any


class Schedule:
    """A factor on the phase's learning rate for each step. Built from (settings,)."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @property
    def needs_dev(self) -> bool:
        """Whether it goes by dev scores, so that `run.evaluations` has to be 1 or more."""
        return False

    def factor(self, step: int, steps: int) -> float:
        """The factor for step `step` (0, 1, ...) of `steps`."""
        raise NotImplementedError

    def observe(self, loss: float, dev: float | None) -> None:
        """Told at the end of each epoch how it went, before the factor of the next one's first step is asked for.

        Args:
            loss: of training: the mean over tasks of each one's mean over the epoch's steps.
            dev: the mean of the phase's tasks' scores on the half of dev that epochs are chosen on (all of dev where
                `run.selection` is whole); None after an epoch that dev was not scored after.
        """

    def state_dict(self) -> dict[str, Any]:
        """All of it that changes in training, for a checkpoint."""
        return {name: value for name, value in vars(self).items() if name != "settings"}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        vars(self).update(state)
