"""What the check of the data found, as a section of the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.outputs import DataReport
from mtbert.reporting import markdown
from mtbert.reporting.catalog import Catalog
from mtbert.tasks import SPLITS, TASKS

CORPORA = [f"{task}/{split}" for task in TASKS for split in SPLITS]


def data(build: Path, catalog: Catalog) -> str:
    """What the check of the data found, from build/data/report.json, and what else `preprocess` should have left."""
    file, unknown = build / "data" / "report.json", _unknown_rows(build, catalog)
    if not file.is_file():
        return f"## Data\n\n{unknown}" if unknown else ""
    report = files.read_as(DataReport, file, "dvc repro preprocess").model_dump(by_alias=True)
    overlaps = [*report.get("overlaps", []), *report.get("overlaps with pretraining", [])]
    parts = [
        "## Data",
        markdown.lined(
            [_file_line(name, report["files"][name]) for name in CORPORA if name in report["files"]], sides=2
        ),
        "Duplicates: rows whose sentences an earlier row has; conflicts: such rows with different labels (case and "
        "spacing folded). Refused rows, with line and reason: `build/data/report.json`.",
        markdown.lined(
            [_overlap_line(overlap) for overlap in overlaps if overlap["sharing"] or overlap["bare"]], sides=2
        ),
        _missing(report.get("missing", [])),
        unknown,
    ]
    return "\n\n".join(part for part in parts if part)


def _unknown_rows(build: Path, catalog: Catalog) -> str:
    """What the report does without where `preprocess` has not said which dev rows share a sentence."""
    asked = {task for entry in catalog.selected for task in entry.tasks}
    needed = [Path("data", task, "dev-rows.parquet") for task in TASKS if task in asked]
    lacking = ", ".join(f"`{file}`" for file in needed if not (build / file).is_file())
    said = "rows that share a sentence are resampled apart, which makes intervals too narrow, and leakage is not told"
    return f"Without {lacking} {said}; `dvc repro preprocess` makes what is missing." if lacking else ""


def _file_line(name: str, found: Mapping[str, Any]) -> dict[str, str]:
    return {
        "file": name,
        "labels": "yes" if found["labelled"] else "withheld",
        "rows read": markdown.count(found["read"]),
        "kept": markdown.count(found["kept"]),
        "refused": markdown.count(len(found["refused"])),
        "duplicates": markdown.count(found["duplicates"]["folded"]),
        "conflicts": markdown.count(len(found["conflicts"])),
    }


def _overlap_line(overlap: Mapping[str, Any]) -> dict[str, str]:
    return {
        "rows of": overlap["of"],
        "that are in": overlap["with"],
        "rows": markdown.count(overlap["rows"]),
        "exactly": markdown.count(overlap["exact"]),
        "case and spacing folded": markdown.count(overlap["folded"]),
        "punctuation dropped": markdown.count(overlap["bare"]),
        "sharing a sentence": markdown.count(overlap["sharing"]),
    }


def _missing(names: Sequence[str]) -> str:
    return f"Not there: {', '.join(f'`{name}`' for name in names)}." if names else ""
