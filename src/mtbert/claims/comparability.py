"""Whether two rows may be compared: made alike, with equal budgets; and what more training does to a difference."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

import pandas as pd

ALIKE = ("code", "profile", "precision", "threads", "keep", "selection")  # columns of `runs`
UNEQUAL = 0.05  # examples of a task, or updates, may differ by this share: samplers draw
Line = Mapping[str, Any]  # of a run; `mtbert.claims` lists the keys


def unlike(lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the columns of ALIKE in which these runs differ, and the techniques whose code does."""
    columns = [name for name in ALIKE if len({line[name] for line in lines}) > 1]
    digests: Any = pd.DataFrame([line["techniques"] for line in lines]).nunique()
    return (*columns, *digests.index[digests > 1])


def unequal(ours: Sequence[Line], other: Sequence[Line], tasks: Sequence[str], differs: Collection[str]) -> bool:
    """Return whether two rows trained unequally long on what they should not.

    Args:
        ours: the runs of a row.
        other: those of the other.
        tasks: that are scored.
        differs: may hold `updates` and `examples`, in which the claim lets the rows differ.
    """
    columns = [] if "updates" in differs else ["updates"]
    columns += [] if "examples" in differs else [f"examples_{task}" for task in tasks]
    totals = [(a_seed(ours, name), a_seed(other, name)) for name in columns]
    return any(abs(a - b) > UNEQUAL * max(a, b) for a, b in totals)


def a_seed(lines: Sequence[Line], column: str) -> float:
    """Return the mean over seeds of the sum over a row's models; NaN, which is unequal to nothing, if one is untold."""
    values = [float("nan") if line[column] is None else float(line[column]) for line in lines]
    return sum(values) / len({line["seed"] for line in lines})


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
