"""The papers' own numbers, from papers/*.yaml.

A metric is a task, or the overall as the paper prints it: `overall_raw`, (sst + qqp + r) / 3, or `overall_normalised`,
(sst + qqp + (r + 1) / 2) / 3. A note is of the whole row.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mtbert import metrics
from mtbert.config import papers
from mtbert.errors import DataError
from mtbert.metrics import MAIN_TASKS
from mtbert.results.tables import METRICS, OVERALLS
from mtbert.tasks import SPLITS

ROUNDING = 0.001  # parts are off by 0.0005 at most, and so is their mean: 0.001 together
INCONSISTENT = "inconsistent"  # a note that begins so admits an overall that does not follow from its parts
NOTE = "note"
RIVALS = "rivals"  # stands for the paper of what is held against PALs beside the reports
TITLES = papers.titles()


@dataclass(frozen=True)
class PublishedRow:
    """One row of a paper's table.

    Attributes:
        paper, table, row, split: which row; table is a number, or `text` for numbers from the paper's text.
        values: by metric; without those that the paper neither gives nor implies.
        scale: of the overall that the paper prints, raw or normalised; empty where it prints none.
        note: what to know of the row.
    """

    paper: str
    table: str
    row: str
    split: str
    values: dict[str, float]
    scale: str = ""
    note: str = ""

    @property
    def averaged(self) -> tuple[str, ...]:
        """The tasks that the row's overall is the mean of: all three or, where its paper averages over fewer, those."""
        given = tuple(task for task in MAIN_TASKS if task in self.values)
        return given if given and "overall_raw" in self.values else MAIN_TASKS


def load(read: Mapping[str, papers.Paper] | None = None) -> list[PublishedRow]:
    """Check the published numbers of these papers, or of all, in their order.

    The overall that a paper does not print is computed from its parts where all three are there.

    Raises:
        DataError: an unknown split or metric, a score that is no number from -1 to 1, or
            an overall that does not follow from its parts and whose note does not say so. The message lists all faults.
    """
    given = [
        (paper, number, row, split, printed, str(content.get(NOTE, "")))
        for paper, its in (papers.load() if read is None else read).items()
        for number, table in its.tables.items()
        for row, content in table.rows.items()
        for split, printed in content.items()
        if split != NOTE
    ]
    if faults := [f"{', '.join(key[:4])}: {fault}" for key in given if (fault := _fault(*key[3:]))]:
        raise DataError("papers/*.yaml:\n" + "\n".join(faults))
    return [_row(*one) for one in given]


def _row(paper: str, table: str, row: str, split: str, printed: Any, note: str) -> PublishedRow:
    scale = next((name.removeprefix("overall_") for name in OVERALLS if name in printed), "")
    return PublishedRow(paper, table, row, split, metrics.overall(printed) | printed, scale, note)


def _fault(split: str, printed: Any, note: str) -> str:
    """What is wrong with the scores of a row on a split; empty for nothing."""
    if split not in SPLITS or not isinstance(printed, dict):
        return f"allowed: {NOTE}, and scores of {', '.join(SPLITS)}"
    if unknown := [name for name in printed if name not in METRICS]:
        return f"metric is {unknown[0]!r}, not one of {', '.join(METRICS)}"
    if wrong := [f"{name} is {value}" for name, value in printed.items() if not -1 <= value <= 1]:
        return f"{wrong[0]}, not a number from -1 to 1"
    overalls = [name for name in OVERALLS if name in printed]
    parts = {task: printed[task] for task in MAIN_TASKS if task in printed}
    if len(overalls) > 1:
        return f"both {' and '.join(overalls)} are given; a paper prints one"
    for name in overalls:
        if not parts or (name == "overall_normalised" and len(parts) < len(MAIN_TASKS)):
            return f"{name} without the parts it is the mean of"
        expected = metrics.overall(parts).get(name, math.fsum(parts.values()) / len(parts))
        if abs(printed[name] - expected) > ROUNDING and not note.startswith(INCONSISTENT):
            return f"{name} {printed[name]} does not follow from its parts, which give {expected:.3f}"
    return ""
