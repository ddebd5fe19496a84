"""Whether two rows may be compared: made alike, with equal budgets."""

import json
from collections.abc import Collection, Sequence

import pandas as pd

ALIKE = ("code", "profile", "precision", "threads", "keep", "selection")  # columns of `runs`
UNEQUAL = 0.05  # examples of a task, or updates, may differ by this share: samplers draw
Unequal = dict[str, tuple[float, float]]  # by column, of ours and of the other, means over seeds


def unlike(ours: pd.DataFrame, other: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of ALIKE in which lines of `runs` differ, and the techniques whose code does."""
    every = pd.concat([ours, other])
    columns = [name for name in ALIKE if every[name].nunique(dropna=False) > 1]
    digests: dict[str, set[str]] = {}
    for text in every["techniques"]:
        for name, digest in json.loads(text).items():
            digests.setdefault(name, set()).add(digest)
    return (*columns, *(name for name, several in digests.items() if len(several) > 1))


def unequal(ours: pd.DataFrame, other: pd.DataFrame, tasks: Sequence[str], differs: Collection[str]) -> Unequal:
    """Return what two rows trained unequally long, of what they should not.

    Args:
        ours: the lines of `runs` of a row.
        other: those of the other.
        tasks: that are scored.
        differs: may hold `updates` and `examples`, in which the claim lets the rows differ.
    """
    columns = [] if "updates" in differs else ["updates"]
    columns += [] if "examples" in differs else [f"examples_{task}" for task in tasks]
    totals = {name: (_a_seed(ours, name), _a_seed(other, name)) for name in columns}
    return {name: (a, b) for name, (a, b) in totals.items() if abs(a - b) > UNEQUAL * max(a, b)}


def _a_seed(lines: pd.DataFrame, column: str) -> float:
    """Return the mean over seeds of the sum over a row's models; NaN, which is unequal to nothing, if one is untold."""
    values = lines[column].astype(float)
    return float("nan") if values.isna().any() else float(values.sum()) / lines["seed"].nunique()
