"""The index page: how to make it again, what ran where, the data, the sentence pretraining."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtbert import files
from mtbert.reporting import catalog, page, results
from mtbert.reporting.mistakes import Answers


def plan(build: Path) -> catalog.Catalog:
    return catalog.read(build / "plan" / "catalog.yaml")


def test_the_command_names_what_was_chosen(make_build: Callable[..., Path]) -> None:
    assert page.again(plan(make_build(seeds=(1, 2)))).splitlines()[3] == (
        "dvc exp run -S profile=sample -S 'variants=[bert-qqp,bert-sst,bert-sts,pals]' -S 'seeds=[1,2]'"
    )


def test_what_ran_where(make_build: Callable[..., Path]) -> None:
    build = make_build()
    (files.log_directory(build, build / "runs/pals/1") / "run.json").unlink()
    lines = page.ran(results.runs(build, plan(build))).splitlines()
    assert lines[2:6] == [
        "| run              |   wall time |   training |   examples |   examples / s |   memory, MB | device    |",
        "|:-----------------|------------:|-----------:|-----------:|---------------:|-------------:|:----------|",
        "| bert-qqp, seed 1 |  2 min 05 s | 1 min 40 s |     12,000 |            120 |          900 | cpu, bf16 |",
        "| bert-sst, seed 1 |  2 min 05 s | 1 min 40 s |     12,000 |            120 |          900 | cpu, bf16 |",
    ]
    assert lines[-3:] == [
        "All trainings together: 6 min 16 s.", "", "- Some CPU, 2 cores, 23 GB; torch 2.13.0",
    ]  # fmt: skip


def test_sbert_is_reported_where_it_was_needed(tmp_path: Path) -> None:
    assert page.pretraining(tmp_path, "sbert") == ""
    numbers = {"sts_dev_pearson_before": 0.7124, "sts_dev_pearson_after": 0.8, "pairs": 10000, "steps": 313}
    files.write_json(tmp_path / "encoders" / "sbert" / "metrics.json", numbers)
    assert page.pretraining(tmp_path, "sbert").splitlines()[-1] == (
        "Pearson's r between the cosine of two sentence embeddings and the label, on STS-B dev: 0.712 before, 0.800 "
        "after 313 steps over 10,000 entailment pairs."
    )
    files.write_yaml(tmp_path / "plan" / "pretrain-sbert.yaml", {"needed": False})
    assert page.pretraining(tmp_path, "sbert") == ""


def test_data_checks_are_summed_up(tmp_path: Path) -> None:
    entry = catalog.Entry("a", "own", "a", ("sst",), True)
    plan = catalog.Catalog("sample", (1,), "best", "half", "tiny", "", "", (entry,))
    assert page.data(tmp_path, plan) == (
        "## Data\n\nWithout `data/sst/dev-rows.parquet` rows that share a sentence are resampled apart, which makes "
        "intervals too narrow, and leakage is not told; `dvc repro preprocess` makes what is missing."
    )
    files.write_text(tmp_path / "data/sst/dev-rows.parquet", "there")
    assert page.data(tmp_path, plan) == ""
    counts = {"exact": 1, "folded": 2, "bare": 3}
    train = {"labelled": True, "read": 8544, "kept": 8543, "refused": [{}], "duplicates": counts, "conflicts": [{}]}
    test = {"labelled": False, "read": 2210, "kept": 2210, "refused": [], "duplicates": counts, "conflicts": []}
    shared = {"of": "sst/dev", "with": "sst/train", "rows": 1101, **counts, "sharing": 4}
    nothing = shared | {"of": "sst/test", "bare": 0, "sharing": 0}
    report = {"files": {"sst/train": train, "sst/test": test}, "missing": ["cs224n/a.csv"]}
    files.write_json(
        tmp_path / "data/report.json", report | {"overlaps": [shared], "overlaps with pretraining": [nothing]}
    )
    assert page.data(tmp_path, plan).splitlines() == [
        "## Data",
        "",
        "| file      | labels   |   rows read |   kept |   refused |   duplicates |   conflicts |",
        "|:----------|:---------|------------:|-------:|----------:|-------------:|------------:|",
        "| sst/train | yes      |       8,544 |  8,543 |         1 |            2 |           1 |",
        "| sst/test  | withheld |       2,210 |  2,210 |         0 |            2 |           0 |",
        "",
        "Duplicates: rows whose sentences an earlier row has; conflicts: such rows with different labels (case and "
        "spacing folded). Refused rows, with line and reason: `build/data/report.json`.",
        "",
        "| rows of   | that are in   |   rows |   exactly |   case and spacing folded |   punctuation dropped |"
        "   sharing a sentence |",
        "|:----------|:--------------|-------:|----------:|--------------------------:|----------------------:|"
        "---------------------:|",
        "| sst/dev   | sst/train     |  1,101 |         1 |                         2 |                     3 |"
        "                    4 |",
        "",
        "Not there: `cs224n/a.csv`.",
    ]


def test_a_directory_of_ones_own_is_shown_without_its_place(make_build: Callable[..., Path]) -> None:
    build = make_build()
    content = files.read_yaml(build / "plan" / "catalog.yaml")
    files.write_yaml(build / "plan" / "catalog.yaml", content | {"data_dir": "/home/someone/corpora"})
    assert plan(build).data == "/path/to/corpora"


def test_durations() -> None:
    assert [page.duration(seconds) for seconds in (0.4, 59.6, 3605, None)] == [
        "0 s",
        "1 min 00 s",
        "1 h 00 min",
        "\N{EN DASH}",
    ]


def test_text_of_a_corpus_is_shown_as_it_is() -> None:
    assert page.literal("a <b> | *c*\n_d_ & `e` [f](g)") == r"a &lt;b> \| \*c\* \_d\_ \& \`e\` \[f\](g)"


@pytest.mark.parametrize(
    ("data_dir", "row"),
    [
        ("data/sample", "| very dull / another |       5 |           2 |     3.00 |"),
        ("data/official", "| `a`   |       5 |           2 |     3.00 |"),
    ],
)
def test_worst_misses_hold_sentences_where_these_are_ours(tmp_path: Path, data_dir: str, row: str) -> None:
    (tmp_path / "data/sts").mkdir(parents=True)
    rows = pd.DataFrame({"id": ["a"], "sentence1": ["very  dull"], "sentence2": ["another"]})
    rows.to_parquet(tmp_path / "data/sts/dev.parquet")
    labels, none = pd.Series([5.0], ["a"]), np.zeros((0, 0), dtype=int)
    said = [Answers(labels, pd.DataFrame({"prediction": [score]}, ["a"]), none, 1) for score in (1.0, 3.0)]
    plan = catalog.Catalog("sample", (1,), "last", "whole", "tiny", "", data_dir, ())
    assert page.misses(tmp_path, plan, {"sts": dict(enumerate(said))}).splitlines()[-1] == row  # pyright: ignore
    assert page.misses(tmp_path, plan, {}) == ""
