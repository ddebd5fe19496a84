"""Learning-rate schedules: step by step, a factor on the phase's learning rate."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions, Section


class Schedule:
    """A factor for each step."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def factor(self, step: int, steps: int) -> float:
        """The factor for step `step` (0, 1, ...) of `steps`."""
        raise NotImplementedError

    def observe(self, loss: float) -> None:
        """Told at the end of each epoch of the tasks' training losses in it: the mean over tasks of each one's mean."""

    def state_dict(self) -> dict[str, Any]:
        """All of it that changes in training, for a checkpoint."""
        return {name: value for name, value in vars(self).items() if name != "settings"}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        vars(self).update(state)


class Constant(Schedule):
    """The learning rate as it is."""

    def factor(self, step: int, steps: int) -> float:
        """1."""
        return 1.0


class SlantedTriangularSettings(Section):
    """Section `slanted_triangular`: share of the steps that the learning rate rises for."""

    warmup: float = Field(default=0.1, ge=0, lt=1)


class SlantedTriangular(Schedule):
    """Linear rise from 0 over the first `warmup` of the steps, then linear fall to 0 at the end.

    Source: "Pals for PALs", section 5.3; "My PAL BERT" names it after Howard and Ruder (2018).
    """

    def factor(self, step: int, steps: int) -> float:
        """Rising, then falling."""
        rise = self.settings.warmup * steps
        return step / rise if step < rise else (steps - step) / max(1.0, steps - rise)


class ReduceOnPlateauSettings(Section):
    """Section `reduce_on_plateau`: by what to multiply, after how many epochs that are no better by what share."""

    factor: float = Field(default=0.1, gt=0, lt=1)
    patience: int = Field(default=1, ge=0)
    threshold: float = Field(default=1e-4, ge=0)


class ReduceOnPlateau(Schedule):
    """The learning rate falls where the training loss no longer does.

    As torch's ReduceLROnPlateau: after more than `patience` epochs in a row whose loss is not below the best by the
    share `threshold`, the rate is multiplied by `factor`.

    Source: SlapBERT, section 4.3, which names neither numbers nor the loss. factor and threshold are torch's; torch's
    patience of 10 could not act in the paper's 10 epochs, so it is 1. It goes by the training loss: going by dev would
    choose on the scores that are reported.
    """

    def __init__(self, settings: ReduceOnPlateauSettings) -> None:
        super().__init__(settings)
        self.now = 1.0
        self.best = math.inf
        self.waited = 0

    def factor(self, step: int, steps: int) -> float:
        """As the epochs so far have left it."""
        return self.now

    def observe(self, loss: float) -> None:
        """Count epochs without progress."""
        if loss < self.best * (1 - self.settings.threshold):
            self.best, self.waited = loss, 0
            return
        self.waited += 1
        if self.waited > self.settings.patience:
            self.now, self.waited = self.now * self.settings.factor, 0


SCHEDULES: Registry[[], Schedule] = Registry(
    "schedule",
    {
        "constant": Technique(NoOptions, Constant),
        "slanted_triangular": Technique(SlantedTriangularSettings, SlantedTriangular),
        "reduce_on_plateau": Technique(ReduceOnPlateauSettings, ReduceOnPlateau),
    },
)
