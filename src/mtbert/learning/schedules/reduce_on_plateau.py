"""Reduce on plateau: the learning rate falls where epochs bring no more progress.

What it does: multiplies the rate by `factor` after more than `patience` epochs in a row without progress, like torch's
ReduceLROnPlateau. Progress is a value above the best so far by more than the share `threshold` of it.

Formula: factor = f^k after k plateaus; progress in epoch e if v_e > b + h |b|, with b the largest v before it.

Source: SlapBERT, which names no numbers: it addresses "plateauing loss" (section 2) and lowers the rate when
performance stays for several epochs (4.3). f and h are torch's; torch's patience of 10 could not act in the paper's
10 epochs, so it is 1.

Symbols: f `factor`, h `threshold`; v what is watched: the dev score, or the training loss with its sign changed.

Mind that the rows that it watches should count in no score. So `run.selection` has to be half or spared, or whole where
the best epoch is kept, too, whose scores are known to be a little too good.
"""

from typing import Literal

from pydantic import Field

from mtbert.learning.schedules.base import Schedule
from mtbert.settings import Section


class Settings(Section):
    """Section `reduce_on_plateau`: when and how far the rate falls.

    Attributes:
        factor: the rate is multiplied by it.
        patience: number of epochs in a row without progress that are tolerated. An epoch after which dev was not scored
            counts only where the loss is watched.
        threshold: the least progress, as a share of the best so far.
        watches: the dev score or the training loss.
    """

    factor: float = Field(default=0.1, gt=0, lt=1)
    patience: int = Field(default=1, ge=0)
    threshold: float = Field(default=1e-4, ge=0)
    watches: Literal["dev", "loss"] = "dev"


class ReduceOnPlateau(Schedule):
    """Counts epochs without progress."""

    changes = ("reduction", "best", "waited")
    without_dev = "reduce_on_plateau.watches: loss"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.needs_dev = settings.watches == "dev"
        self.reduction = 1.0
        self.best: float | None = None
        self.waited = 0

    def factor(self, step: int, steps: int) -> float:
        """Return the factor that the epochs so far led to."""
        return self.reduction

    def observe(self, dev: float | None, loss: float) -> None:
        """Compare with the best so far."""
        value = dev if self.needs_dev else -loss
        if value is None:
            return
        if self.best is None or value > self.best + self.settings.threshold * abs(self.best):
            self.best, self.waited = value, 0
            return
        self.waited += 1
        if self.waited > self.settings.patience:
            self.reduction, self.waited = self.reduction * self.settings.factor, 0
