"""Reduce on plateau: the learning rate falls where epochs bring no more progress.

What it does: multiplies the rate by `factor` after more than `patience` epochs in a row without progress, like torch's
ReduceLROnPlateau. Progress is a dev score above the best so far by more than the share `threshold` of it.

Formula: factor = f^k after k plateaus; progress in epoch e if v_e > b + h |b|, with b the largest v before it.

Source: SlapBERT, section 4.3, which lowers the rate when "performance" no longer rises, and names neither numbers nor
what is measured. f and h are torch's; torch's patience of 10 could not act in the report's 10 epochs, so it is 1.

Symbols: f `factor`, h `threshold`; v the dev score, of the half of dev that epochs are chosen on, so that no choice
depends on what is reported.
"""

from pydantic import Field

from mtbert.settings import Section
from mtbert.training.schedules.base import Schedule


class Settings(Section):
    """Section `reduce_on_plateau`: when and how far the rate falls.

    Attributes:
        factor: the rate is multiplied by it.
        patience: number of epochs in a row without progress that are tolerated.
        threshold: the least progress, as a share of the best so far.
    """

    factor: float = Field(default=0.1, gt=0, lt=1)
    patience: int = Field(default=1, ge=0)
    threshold: float = Field(default=1e-4, ge=0)


class ReduceOnPlateau(Schedule):
    """Counts epochs without progress."""

    needs_dev = True
    changes = ("now", "best", "waited")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.now = 1.0
        self.best: float | None = None
        self.waited = 0

    def factor(self, step: int, steps: int) -> float:
        """Return the factor that the epochs so far led to."""
        return self.now

    def observe(self, dev: float) -> None:
        """Compare with the best so far."""
        if self.best is None or dev > self.best + self.settings.threshold * abs(self.best):
            self.best, self.waited = dev, 0
            return
        self.waited += 1
        if self.waited > self.settings.patience:
            self.now, self.waited = self.now * self.settings.factor, 0
