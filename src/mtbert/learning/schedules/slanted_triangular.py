"""Slanted triangular: linear rise from 0, then linear fall to 0 at the end.

Formula: factor = t / (w T) for t < w T, else (T - t) / (T - w T).

Source: "Pals for PALs", section 5.3; "My PAL BERT", section 5.3, which names it after Howard and Ruder (2018).

Symbols: t step, counted from 0; T steps of the phase; w `warmup`, the share of the steps that the rate rises for.

Prefer `constant` where a training may be made longer later: here every step's rate depends on the number of steps.
"""

from pydantic import Field

from mtbert.learning.schedules.base import Schedule
from mtbert.settings import Section


class Settings(Section):
    """Section `slanted_triangular`: share of the steps that the learning rate rises for."""

    warmup: float = Field(default=0.1, ge=0, lt=1)


class SlantedTriangular(Schedule):
    """Rises, then falls."""

    def factor(self, step: int, steps: int) -> float:
        """Return the factor, which rises and then falls."""
        rise = self.settings.warmup * steps
        return step / rise if step < rise else (steps - step) / max(1.0, steps - rise)
