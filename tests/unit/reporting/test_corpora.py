"""The section on the data: what the checks found."""

from dataclasses import replace
from pathlib import Path

from mtbert import files
from mtbert.reporting import catalog, corpora


def test_data_checks_are_summed_up(tmp_path: Path) -> None:
    entry = catalog.CompletedEntry("a", "own", "a", ("sst",), True, seeds=(1,))
    plan = catalog.Completed("sample", (1,), "best", "half", "tiny", "", "", (entry,))
    assert corpora.data(tmp_path, plan) == (
        "## Data\n\nWithout `data/sst/dev-rows.parquet` rows that share a sentence are resampled apart, which makes "
        "intervals too narrow, and leakage is not told; `dvc repro preprocess` makes what is missing."
    )
    files.write_text(tmp_path / "data/sst/dev-rows.parquet", "there")
    assert corpora.data(tmp_path, plan) == ""
    counts = {"exact": 1, "folded": 2, "bare": 3}
    train = {"labelled": True, "read": 8544, "kept": 8543, "refused": [{}], "duplicates": counts, "conflicts": [{}]}
    test = {"labelled": False, "read": 2210, "kept": 2210, "refused": [], "duplicates": counts, "conflicts": []}
    shared = {"of": "sst/dev", "with": "sst/train", "rows": 1101, **counts, "sharing": 4}
    nothing = shared | {"of": "sst/test", "bare": 0, "sharing": 0}
    report = {"files": {"sst/train": train, "sst/test": test}, "missing": ["cs224n/a.csv"]}
    files.write_json(
        tmp_path / "data/report.json", report | {"overlaps": [shared], "overlaps with pretraining": [nothing]}
    )
    assert corpora.data(tmp_path, plan).splitlines() == [
        "## Data",
        "",
        "| file      | labels   |   rows read |   kept |   refused |   duplicates |   conflicts |",
        "|:----------|:---------|------------:|-------:|----------:|-------------:|------------:|",
        "| sst/train | yes      |       8,544 |  8,543 |         1 |            2 |           1 |",
        "| sst/test  | withheld |       2,210 |  2,210 |         0 |            2 |           0 |",
        "",
        "Duplicates: rows whose sentences an earlier row has; conflicts: such rows with different labels (case and "
        "spacing folded). Refused rows, with line and reason: `build/data/report.json` (`facts/data/report.json` of a "
        "report's evidence).",
        "",
        "| rows of   | that are in   |   rows |   exactly |   case and spacing folded |   punctuation dropped |"
        "   sharing a sentence |",
        "|:----------|:--------------|-------:|----------:|--------------------------:|----------------------:|"
        "---------------------:|",
        "| sst/dev   | sst/train     |  1,101 |         1 |                         2 |                     3 |"
        "                    4 |",
        "",
        "Sharing: rows one of whose sentences, case and spacing folded, is anywhere in the other set. The three "
        "columns before it: rows that are there as a whole.",
        "",
        "Not in the data folder: `cs224n/a.csv`.",
    ]


def test_what_the_corpora_have_less_of_than_the_course_is_told(tmp_path: Path) -> None:
    counts = {"exact": 0, "folded": 0, "bare": 0}
    kept = {"sst/train": 8500, "qqp/train": 85_285, "snli/train": 549_367, "qqp/dev": 20}
    of_files = {
        name: {"labelled": True, "read": rows, "kept": rows, "refused": [], "duplicates": counts, "conflicts": []}
        for name, rows in kept.items()
    }
    files.write_json(tmp_path / "data/report.json", {"files": of_files})
    plan = catalog.Completed("laptop", (1,), "best", "half", "tiny", "", "", (), whose="course")
    assert corpora.fewer(tmp_path, plan) == [
        "**Smaller train sets than the corpora have**, parts of them or stand-ins. Rows: QQP 85,285 for 141,498."
    ]
    assert corpora.fewer(tmp_path, replace(plan, whose="own")) == []
    assert corpora.fewer(tmp_path / "elsewhere", plan) == []
