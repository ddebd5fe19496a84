"""The corpora: what their check found, and how often each label comes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert import files
from mtbert.outputs import DataReport
from mtbert.reporting import markdown
from mtbert.reporting.catalog import Completed
from mtbert.tasks import SPLITS, TASKS

LABELLED = ("sst", "cfimdb")  # tasks whose labels' shares are drawn
WHOLE = {"sst": 8544, "qqp": 141_498, "sts": 6040, "cfimdb": 1701, "snli": 549_367, "mnli": 392_702}  # of train
CORPORA = [f"{task}/{split}" for task in TASKS for split in SPLITS]


def data(build: Path, completed: Completed) -> str:
    """What the check of the data found, from build/data/report.json, and what else `preprocess` should have left."""
    file, unknown = build / "data" / "report.json", _unknown_rows(build, completed)
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
        "spacing folded). Refused rows, with line and reason: `build/data/report.json` (`facts/data/report.json` of "
        "a report's evidence).",
        markdown.lined(
            [_overlap_line(overlap) for overlap in overlaps if overlap["sharing"] or overlap["bare"]], sides=2
        ),
        "Sharing: rows one of whose sentences, case and spacing folded, is anywhere in the other set. The three "
        "columns before it: rows that are there as a whole."
        if overlaps
        else "",
        _missing(report.get("missing", [])),
        unknown,
    ]
    return "\n\n".join(part for part in parts if part)


def fewer(build: Path, completed: Completed) -> list[str]:
    """Which of the course's and its reports' corpora have much less of train here than they have, for people."""
    file = build / "data" / "report.json"
    if completed.whose != "course" or not file.is_file():
        return []
    counts = files.read_as(DataReport, file, "dvc repro preprocess").model_dump(by_alias=True)["files"]
    kept = {name: counts[f"{name}/train"]["kept"] for name in WHOLE if f"{name}/train" in counts}
    short = [
        f"{TASKS[name].title} {kept[name]:,} for {WHOLE[name]:,}" for name in kept if kept[name] < 0.99 * WHOLE[name]
    ]
    about = "**Smaller train sets than the corpora have**, parts of them or stand-ins. Rows:"
    return [f"{about} {', '.join(short)}."] if short else []


def _unknown_rows(build: Path, completed: Completed) -> str:
    """What the report does without where `preprocess` has not said which dev rows share a sentence."""
    asked = {task for entry in completed.ran for task in entry.tasks}
    needed = [Path("data", task, "dev-rows.parquet") for task in TASKS if task in asked]
    lacking = ", ".join(f"`{file}`" for file in needed if not (build / file).is_file())
    said = "rows that share a sentence are resampled apart, which makes intervals too narrow, and leakage is not told"
    return f"Without {lacking} {said}; `dvc repro preprocess` makes what is missing." if lacking else ""


def _file_line(name: str, counts: Mapping[str, Any]) -> dict[str, str]:
    return {
        "file": name,
        "labels": "yes" if counts["labelled"] else "withheld",
        "rows read": markdown.count(counts["read"]),
        "kept": markdown.count(counts["kept"]),
        "refused": markdown.count(len(counts["refused"])),
        "duplicates": markdown.count(counts["duplicates"]["folded"]),
        "conflicts": markdown.count(len(counts["conflicts"])),
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
    return f"Not in the data folder: {', '.join(f'`{name}`' for name in names)}." if names else ""


def shares(build: Path, task: str) -> pd.DataFrame:
    """Share of each label (rows) in train and dev (columns); empty where the corpus is not there."""
    sets = {split: build / "data" / task / f"{split}.parquet" for split in ("train", "dev")}
    columns = {
        split: files.read_parquet(file, ["label"])["label"].astype(int).value_counts(normalize=True)
        for split, file in sets.items()
        if file.is_file()
    }
    return pd.DataFrame(columns).sort_index().fillna(0.0)
