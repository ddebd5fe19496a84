"""Whether two rows may be compared: made alike, with equal budgets."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

ALIKE = ("code", "profile", "precision", "threads", "keep", "selection")  # columns of `runs`
UNEQUAL = 0.05  # examples of a task, or updates, may differ by this share: samplers draw
Line = Mapping[str, Any]  # of `runs`, by column
Unequal = dict[str, tuple[float, float]]  # by column, of ours and of the other, means over seeds


def unlike(lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the columns of ALIKE in which these runs differ, and the techniques whose code does."""
    columns = [name for name in ALIKE if len({line[name] for line in lines}) > 1]
    techniques = [json.loads(line["techniques"]) for line in lines]
    names = dict.fromkeys(name for one in techniques for name in one)
    digests = {name: {one[name] for one in techniques if name in one} for name in names}
    return (*columns, *(name for name, several in digests.items() if len(several) > 1))


def unequal(
    ours: Sequence[Line], other: Sequence[Line], tasks: Sequence[str], differs: Collection[str]
) -> Unequal:  # fmt: skip
    """Return what two rows trained unequally long, of what they should not.

    Args:
        ours: the runs of a row.
        other: those of the other.
        tasks: that are scored.
        differs: may hold `updates` and `examples`, in which the claim lets the rows differ.
    """
    columns = [] if "updates" in differs else ["updates"]
    columns += [] if "examples" in differs else [f"examples_{task}" for task in tasks]
    totals = {name: (_a_seed(ours, name), _a_seed(other, name)) for name in columns}
    return {name: (a, b) for name, (a, b) in totals.items() if abs(a - b) > UNEQUAL * max(a, b)}


def _a_seed(lines: Sequence[Line], column: str) -> float:
    """Return the mean over seeds of the sum over a row's models; NaN, which is unequal to nothing, if one is untold."""
    values = [float("nan") if line[column] is None else float(line[column]) for line in lines]
    return sum(values) / len({line["seed"] for line in lines})
