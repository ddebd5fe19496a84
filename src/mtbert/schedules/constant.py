"""Constant: the learning rate as it is.

Formula: factor = 1.

Source: the reports that name one learning rate and no schedule.

Prefer `slanted_triangular` where the first steps of a fresh head push the encoder about.
"""

from mtbert.schedules.base import Schedule


class Constant(Schedule):
    """Always 1."""

    def factor(self, step: int, steps: int) -> float:
        """1."""
        return 1.0
