"""The papers' own numbers, from papers/*.yaml.

One number a line: paper, table, row, split, metric, value, note. A metric is a task, or the overall as the paper prints
it: `overall_raw`, (sst + qqp + r) / 3, or `overall_normalised`, (sst + qqp + (r + 1) / 2) / 3. A note is of the whole
row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mtbert import metrics
from mtbert.config import papers
from mtbert.errors import DataError
from mtbert.metrics import MAIN_TASKS
from mtbert.results.tables import METRICS, OVERALLS
from mtbert.tasks import SPLITS

ROW = ("paper", "table", "row", "split")  # what makes numbers one row
ROUNDING = 0.001  # parts are off by 0.0005 at most, and so is their mean: 0.001 together
INCONSISTENT = "inconsistent"  # a note that begins so admits an overall that does not follow from its parts
Line = dict[str, str]

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


def load(lines: Sequence[Line] | None = None) -> list[PublishedRow]:
    """Check the published numbers, the papers' or those given, in their order.

    The overall that a paper does not print is computed from its parts where all three are there.

    Raises:
        DataError: an unknown split or metric, a score that is no number from -1 to 1, or
            an overall that does not follow from its parts and whose note does not say so. The message lists all faults.
    """
    rows: dict[tuple[str, ...], list[Line]] = {}
    for line in papers.published() if lines is None else lines:
        rows.setdefault(tuple(line[column] for column in ROW), []).append(line)
    faults = [f"{', '.join(key)}: {fault}" for key, row in rows.items() for line in row for fault in _faults(line)]
    faults = faults or [f"{', '.join(key)}: {fault}" for key, row in rows.items() for fault in _overall_faults(row)]
    if faults:
        raise DataError("papers/*.yaml:\n" + "\n".join(faults))
    return [_row(key, row) for key, row in rows.items()]


def _row(key: tuple[str, ...], lines: Sequence[Line]) -> PublishedRow:
    printed = {line["metric"]: float(line["value"]) for line in lines}
    scale = next((name.removeprefix("overall_") for name in OVERALLS if name in printed), "")
    paper, table, row, split = key
    return PublishedRow(paper, table, row, split, metrics.overall(printed) | printed, scale, _note(lines))


def _note(lines: Sequence[Line]) -> str:
    return "; ".join(line["note"] for line in lines if line["note"])


def _faults(line: Line) -> list[str]:
    """What is wrong with one line of the file."""
    return [
        *([] if _is_score(line["value"]) else [f"value is {line['value']!r}, not a number from -1 to 1"]),
        *([] if line["split"] in SPLITS else [f"split is {line['split']!r}, not one of {', '.join(SPLITS)}"]),
        *([] if line["metric"] in METRICS else [f"metric is {line['metric']!r}, not one of {', '.join(METRICS)}"]),
    ]


def _is_score(text: str) -> bool:
    try:
        return -1 <= float(text) <= 1
    except ValueError:
        return False


def _overall_faults(lines: Sequence[Line]) -> list[str]:
    """What is wrong with the overall that a row prints."""
    values = {line["metric"]: float(line["value"]) for line in lines}
    printed = {name: values[name] for name in OVERALLS if name in values}
    if len(printed) > 1:
        return [f"both {' and '.join(printed)} are given; a paper prints one"]
    parts = {task: values[task] for task in MAIN_TASKS if task in values}
    for name, value in printed.items():
        if not parts or (name == "overall_normalised" and len(parts) < len(MAIN_TASKS)):
            return [f"{name} without the parts it is the mean of"]
        expected = metrics.overall(parts).get(name, math.fsum(parts.values()) / len(parts))
        if abs(value - expected) > ROUNDING and not _note(lines).startswith(INCONSISTENT):
            return [f"{name} {value} does not follow from its parts, which give {expected:.3f}"]
    return []
