"""The history of a training: rows (phase, step, name, value) for history.csv, also passed on live."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from mtbert import files
from mtbert.learning.states import Stateful


class History(Stateful):
    """Averages losses between two entries, task by task; steps are counted over all phases.

    Args:
        every: steps between two entries.
        listener: is called with step and values of each entry.
    """

    changes = ("rows", "losses")

    def __init__(self, every: int, listener: Callable[[int, dict[str, float]], None]) -> None:
        self.every = every
        self.listener = listener
        self.rows: list[tuple[int, int, str, float]] = []
        self.losses: dict[str, list[float]] = {}  # since the last entry

    def loss(self, name: str, value: float) -> None:
        """Record a loss."""
        self.losses.setdefault(name, []).append(value)

    def is_due(self, step: int) -> bool:
        """Return whether a step ends with an entry: every `every`-th does."""
        return step % self.every == 0

    def log(self, phase: int, step: int, learning_rate: float, more: Mapping[str, float]) -> dict[str, float]:
        """Add an entry: the mean losses since the last one, and `more` values of this step; return its values."""
        values = {f"loss/{name}": sum(losses) / len(losses) for name, losses in sorted(self.losses.items())}
        values |= {"learning_rate": learning_rate, **more}
        self.add(phase, step, values)
        self.losses.clear()
        return values

    def add(self, phase: int, step: int, values: dict[str, float]) -> None:
        """Add an entry."""
        self.rows += [(phase, step, name, value) for name, value in values.items()]
        self.listener(step, values)

    def write(self, file: Path) -> None:
        """Write history.csv; nothing in it depends on the clock."""
        with files.new_file(file) as partial, partial.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(("phase", "step", "name", "value"))
            writer.writerows(self.rows)
