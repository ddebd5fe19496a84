"""Scores with and without the rows that a model may have seen before."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from sealing import seal

from mtbert import predictions
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.markdown import MINUS
from mtbert.reporting.sections import leakage
from mtbert.reporting.sections.base import Report
from mtbert.tasks import TASKS

QQP = TASKS["qqp"]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Five dev pairs, of which the first chose the epoch: a is in train, b shares a sentence, c is in SNLI."""
    rows = {"id": list("eabcd"), "in_train": ["exact", "bare", "", "", ""], "in_pretraining": ["", "", "", "exact", ""]}
    rows |= {"cluster": [0, 1, 2, 3, 4]}
    (tmp_path / "data/qqp").mkdir(parents=True)
    pd.DataFrame(rows | {"shares": [True, False, True, False, False]}).to_parquet(
        tmp_path / "data/qqp/dev-rows.parquet"
    )
    for seed, said in ((1, [1.0, 1.0, 1.0, 0.0, 1.0]), (2, [1.0, 1.0, 0.0, 0.0, 1.0])):
        table = pd.DataFrame({"id": list("eabcd"), "label": 1.0, "prediction": said, "probability_0": 0.5})
        table = table.assign(probability_1=0.5, scored=[False] + [True] * 4, overall=True)
        predictions.write(predictions.path(tmp_path / f"runs/mine/{seed}", "qqp", "dev"), table, QQP)
    seal(tmp_path)
    return tmp_path


def plan(*seeds: int) -> Completed:
    entry = CompletedEntry("mine", "own", "mine", ("qqp",), True, seeds=seeds)
    return Completed("sample", seeds, "best", "half", "tiny", "", "", (entry,))


def report(build: Path, *seeds: int) -> Report:
    return Report(build, plan(*seeds), ())


def scores(build: Path, *seeds: int) -> pd.DataFrame:
    return leakage.scores(report(build, *seeds))


def test_scores_of_the_rows_that_count_with_and_without_those_seen_before(build: Path):
    found = scores(build, 1)
    assert found.drop(columns="change").to_numpy().tolist() == [
        ["mine", "qqp", "duplicates", 4, 1, 0.75, 2 / 3],
        ["mine", "qqp", "shared", 4, 2, 0.75, 0.5],
        ["mine", "qqp", "pretraining", 4, 1, 0.75, 1.0],
    ]
    assert found["change"].tolist() == pytest.approx([-1 / 12, -0.25, 0.25])


def test_means_over_seeds(build: Path):
    found = scores(build, 1, 2).set_index("without")
    assert found.loc["shared", "score"] == pytest.approx((0.75 + 0.5) / 2)
    assert found.loc["shared", "score_without"] == 0.5


def test_nothing_left_out_is_no_line(build: Path):
    table = pd.read_parquet(build / "data/qqp/dev-rows.parquet").assign(in_train="", shares=False, in_pretraining="")
    table.to_parquet(build / "data/qqp/dev-rows.parquet")
    nothing = report(build, 1)
    assert leakage.scores(nothing).empty
    assert leakage.render(nothing) == ""


def test_variants_that_are_scored_on_other_rows_have_lines_of_their_own(build: Path):
    for seed in (1, 2):
        file = predictions.path(build / f"runs/mine/{seed}", "qqp", "dev")
        place = predictions.path(build / f"runs/whole/{seed}", "qqp", "dev")
        predictions.write(place, pd.read_parquet(file).assign(scored=True, overall=True), QQP)
    seal(build)
    both = plan(1, 2)
    entries = (*both.entries, dataclasses.replace(both.entries[0], name="whole"))
    found = leakage.render(Report(build, dataclasses.replace(both, entries=entries), ()))
    assert [line.split("|")[3].strip() for line in found.splitlines() if line.startswith("| QQP")] == [
        "1 of 4", "2 of 4", "1 of 4", "2 of 5", "3 of 5", "1 of 5",
    ]  # fmt: skip


def test_in_short_the_mean_and_the_largest_change(build: Path):
    said = leakage.render(report(build, 1))
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in said.splitlines() if line.startswith("|")
    ]
    assert lines[2:] == [
        ["QQP", "rows that are in train", "1 of 4", f"{MINUS}0.083", f"{MINUS}0.083 (mine)"],
        ["QQP", "these, and rows that share a sentence with train", "2 of 4", f"{MINUS}0.250", f"{MINUS}0.250 (mine)"],
        ["QQP", "rows that are in SNLI or MNLI", "1 of 4", "+0.250", "+0.250 (mine)"],
    ]
