"""Whether a difference stays what it is with more training: at a third of the budget, and at all of it."""

from enum import StrEnum


class Stability(StrEnum):
    """How a difference changes from a third of the budget to all of it."""

    STEADY = "steady"  # by the margin or less
    SHRINKING = "shrinking"
    GROWING = "growing"
    FLIPS = "flips"  # its sign changes, and it moves by more than the margin


def stability(third: float, whole: float, margin: float) -> Stability:
    """Return how a difference changes.

    Args:
        third: at a third of the budget.
        whole: at all of it.
        margin: the smallest difference that matters.
    """
    if abs(whole - third) <= margin:
        return Stability.STEADY
    if third * whole < 0:
        return Stability.FLIPS
    return Stability.GROWING if abs(whole) > abs(third) else Stability.SHRINKING
