"""The papers' own numbers, from published.csv beside this file.

Columns of the file: paper, table, row, split, sst, qqp, sts, cfimdb, overall, scale, note. `scale` says which overall
the paper printed: raw, (sst + qqp + r) / 3, or normalised, (sst + qqp + (r + 1) / 2) / 3.
"""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from mtbert import metrics
from mtbert.errors import DataError
from mtbert.metrics import MAIN_TASKS
from mtbert.tasks import SPLITS

FILE = Path(__file__).with_name("published.csv")
SCORED = (*MAIN_TASKS, "cfimdb")  # the tasks that any paper reports
OVERALLS = ("overall_raw", "overall_normalised")
COLUMNS = ["paper", "table", "row", "split", *SCORED, "overall", "scale", "note"]
SCALES = ("raw", "normalised")
METRICS = (*SCORED, *OVERALLS)
ROUNDING = 0.001  # parts are off by 0.0005 at most, and so is their mean: 0.001 together
INCONSISTENT = "inconsistent"  # a note that begins so admits an overall that does not follow from its parts

TITLES = {
    "my-pal-bert": "My PAL BERT",
    "minbert-pals": "MinBERT and PALs",
    "choose-pals": "Choose Your PALs Wisely",
    "slapbert": "SlapBERT",
    "pals-for-pals": "Pals for PALs",
}


@dataclass(frozen=True)
class PublishedRow:
    """One row of a paper's table.

    Attributes:
        paper, table, row, split: which row; table is a number, or `text` for numbers from the paper's text.
        values: by metric, of METRICS; without those that the paper neither gives nor implies.
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


def load(file: Path = FILE) -> list[PublishedRow]:
    """Read and check the published numbers, in the papers' order.

    The overall that a paper does not print is computed from its parts where all three are there.

    Raises:
        DataError: wrong columns, a row twice, an unknown split or scale, a score that is no number from -1 to 1, or an
            overall that does not follow from its parts and whose note does not say so. The message lists every fault.
    """
    with file.open(encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        lines = list(reader)
    if reader.fieldnames != COLUMNS:
        raise DataError(f"{file}: columns are {reader.fieldnames}, expected {COLUMNS}")
    found, seen = [], set()
    for number, line in enumerate(lines, 2):
        found += [f"line {number}: {fault}" for fault in _faults(line)]
        key = tuple(line[column] for column in COLUMNS[:4])
        found += [f"line {number}: {', '.join(key)} stands twice"] if key in seen else []
        seen.add(key)
    if found:
        raise DataError(f"{file}:\n" + "\n".join(found))
    return [_row(line) for line in lines]


def _row(line: dict[str, str]) -> PublishedRow:
    """The overall as printed in its own scale, and computed from the parts in the other."""
    parts, scale = _parts(line), line["scale"]
    printed = {f"overall_{scale}": float(line["overall"])} if scale else {}
    values = parts | metrics.overall(parts) | printed
    return PublishedRow(line["paper"], line["table"], line["row"], line["split"], values, scale, line["note"])


def _parts(line: dict[str, str]) -> dict[str, float]:
    return {task: float(line[task]) for task in SCORED if line[task]}


def _faults(line: dict[str, str]) -> list[str]:
    """What is wrong with one line of the file."""
    found = [
        f"{name} is {line[name]!r}, not a number from -1 to 1"
        for name in (*SCORED, "overall")
        if line[name] and not _is_score(line[name])
    ]
    if line["split"] not in SPLITS:
        found.append(f"split is {line['split']!r}, not one of {', '.join(SPLITS)}")
    return found or _overall_faults(line)


def _is_score(text: str) -> bool:
    try:
        return -1 <= float(text) <= 1
    except ValueError:
        return False


def _overall_faults(line: dict[str, str]) -> list[str]:
    parts, scale = _parts(line), line["scale"]
    if not line["overall"]:
        return [f"scale {scale!r} without an overall"] if scale else []
    if scale not in SCALES:
        return [f"scale is {scale!r}, not one of {', '.join(SCALES)}"]
    if not parts or (scale == "normalised" and len(parts) < len(MAIN_TASKS)):
        return [f"overall ({scale}) without the parts it is the mean of"]
    expected = metrics.overall(parts).get(f"overall_{scale}", math.fsum(parts.values()) / len(parts))
    if abs(float(line["overall"]) - expected) <= ROUNDING or line["note"].startswith(INCONSISTENT):
        return []
    return [f"overall {line['overall']} ({scale}) does not follow from its parts, which give {expected:.3f}"]
