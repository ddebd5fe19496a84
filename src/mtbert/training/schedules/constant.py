"""Constant: the learning rate as it is.

Formula: factor = 1.

Source: the reports that name one learning rate and no schedule.

Prefer `slanted_triangular` where large gradients of a fresh head would disturb the encoder at first.
"""

from mtbert.training.schedules.base import Schedule


class Constant(Schedule):
    """Always 1, as the base class has it."""
