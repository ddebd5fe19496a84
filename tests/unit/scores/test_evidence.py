"""Evidence of several sources."""

from dataclasses import replace
from pathlib import Path

import made
import pandas as pd
import pytest

from mtbert.errors import DataError
from mtbert.scores import checks, columns, evidence, tables
from mtbert.scores.results import Results
from mtbert.tasks import COURSE
from mtbert.tasks.task import dump_task

ONE, TWO = {("pals", 1): {"sst": [0, 1, 2, 0]}}, {("pals", 2): {"sst": [0, 1, 2, 3]}}


def folder(place: Path, predicted: dict, **changes: object) -> Path:
    tables.write(made.results(predicted, **changes), place)  # type: ignore[arg-type]
    return place


def test_runs_of_several_sources_come_together_and_the_same_run_once(tmp_path: Path):
    sources = [folder(tmp_path / "a", ONE), folder(tmp_path / "build/results", ONE | TWO).parent]
    merged = evidence.merged(sources)
    assert merged.runs[["variant", "seed"]].to_numpy().tolist() == [["pals", 1], ["pals", 2]]
    assert (len(merged.predictions), len(merged.history)) == (8, 4)


def test_a_run_that_differs_between_sources_is_refused_by_name(tmp_path: Path):
    sources = [folder(tmp_path / "a", ONE), folder(tmp_path / "b", {("pals", 1): {"sst": [0, 1, 2, 3]}})]
    with pytest.raises(DataError, match="runs twice, or unlike in two sources: pals, seed 1"):
        evidence.merged(sources)


@pytest.mark.parametrize("changes", [{"data": {"name": "mine"}}, {"settings": {"other": {"profile": "sample"}}}])
def test_runs_of_other_data_or_profile_are_refused(tmp_path: Path, changes: dict):
    sources = [folder(tmp_path / "a", ONE), folder(tmp_path / "b", {("other", 1): {"sst": [0, 1, 2, 3]}}, **changes)]
    with pytest.raises(DataError, match="runs of more than one"):
        evidence.merged(sources)


@pytest.mark.parametrize("start", [{"name": "e5"}, {"note": "Its weights are rounded to fp16."}, {"revision": "b"}])
def test_runs_of_another_encoder_are_refused_also_where_its_folder_has_the_same_name(tmp_path: Path, start: dict):
    sources = [folder(tmp_path / "a", ONE, start={"revision": "a"}), folder(tmp_path / "b", TWO, start=start)]
    with pytest.raises(DataError, match=r"runs of more than one encoder; .*: pals, seed 2"):
        evidence.merged(sources)


def test_runs_that_say_no_revision_of_the_encoder_have_that_of_others(tmp_path: Path):
    sources = [folder(tmp_path / "a", ONE, start={"revision": "a"}), folder(tmp_path / "b", TWO)]
    assert len(evidence.merged(sources).runs) == 2


def test_evidence_leaves_out_withheld_labels():
    results = made.results(ONE)
    results.predictions.loc[0, "label"] = float("nan")
    assert evidence.compact(results).predictions["row"].tolist() == [1, 2, 3]


def test_only_a_folder_of_tables_is_replaced(tmp_path: Path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(DataError, match="which no evidence does"):
        evidence.write(made.results(ONE), tmp_path)


def test_evidence_of_data_whose_labels_are_all_withheld_is_whole():
    results = made.results(ONE)
    results.predictions["label"] = float("nan")
    for column in columns.score_columns(results.tasks):
        results.runs[column] = float("nan")
    checks.check(evidence.compact(results), "evidence")


def test_runs_of_another_train_are_refused_and_where_nobody_counted_it_it_is_the_same(tmp_path: Path):
    def data(rows: int | None) -> dict:
        return {"rows": {} if rows is None else {"sst": {"train": {"rows": rows, "labels": [rows, 0, 0, 0, 0]}}}}

    sources = [folder(tmp_path / "a", ONE, data=data(None)), folder(tmp_path / "b", TWO, data=data(8))]
    assert len(evidence.merged(sources).runs) == 2
    sources.append(folder(tmp_path / "c", {("pals", 3): {"sst": [0, 1, 2, 3]}}, data=data(16)))
    with pytest.raises(DataError, match="runs of more than one set of training rows; a report is of one: pals, seed 3"):
        evidence.merged(sources)


def test_runs_of_tasks_that_are_described_otherwise_are_refused(tmp_path: Path):
    def data(matters: float) -> dict:
        return {"tasks": {"sst": dump_task(replace(COURSE["sst"], matters=matters))}}

    sources = [folder(tmp_path / "a", ONE, data=data(0.01)), folder(tmp_path / "b", TWO, data=data(0.1))]
    with pytest.raises(DataError, match=r"runs of more than one description of the tasks; .*: pals, seed 2"):
        evidence.merged(sources)


def test_a_training_that_was_copied_to_another_seed_is_refused():
    results = made.results(ONE)
    copied = [
        pd.concat([table, table.assign(seed=2)], ignore_index=True)
        for table in (results.runs, results.predictions, results.history)
    ]
    with pytest.raises(DataError, match="pals: seed 2 has the losses and predictions of seed 1, so one is a copy"):
        checks.check(Results(*copied), "here")
    copied[2].loc[3, "value"] = 0.25
    checks.check(Results(*copied), "here")


@pytest.mark.parametrize(("column", "value"), [("stored", -1), ("milliseconds", -2.0), ("seconds", float("inf"))])
def test_counts_and_times_below_0_or_infinite_are_refused(column: str, value: float):
    results = made.results(ONE)
    results.runs[column] = value
    with pytest.raises(DataError, match=f"here: {column} below 0 or infinite: pals, seed 1"):
        checks.check(results, "here")


def test_results_without_a_run_of_a_variant_are_refused(tmp_path: Path):
    results = made.results(ONE)
    results.runs["kind"] = "baseline"
    tables.write(results, tmp_path)
    with pytest.raises(DataError, match="no run of a variant; a report needs one"):
        tables.read(tmp_path)
