"""Evidence of several sources."""

from pathlib import Path

import made
import pytest

from mtbert.errors import DataError
from mtbert.scores import checks, columns, evidence, tables

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


def test_evidence_leaves_out_withheld_labels():
    results = made.results(ONE)
    results.predictions.loc[0, "label"] = float("nan")
    assert evidence.packed(results).predictions["row"].tolist() == [1, 2, 3]


def test_only_a_folder_of_tables_is_replaced(tmp_path: Path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(DataError, match="which no evidence does"):
        evidence.write(made.results(ONE), tmp_path)


def test_evidence_of_data_whose_labels_are_all_withheld_is_whole():
    results = made.results(ONE)
    results.predictions["label"] = float("nan")
    for column in columns.score_columns(results.tasks):
        results.runs[column] = float("nan")
    checks.check(evidence.packed(results), "evidence")
