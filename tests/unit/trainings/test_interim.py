"""The answer while trainings go on."""

import shutil
from pathlib import Path

import built
import made
import pandas as pd
import pytest

from mtbert import files, layout
from mtbert.merging import run as merging
from mtbert.provenance import seals
from mtbert.trainings import interim

FOLLOWING = "the answer from the last comes at about 14:32"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Two variants of which seed 1 is trained, and one already with seed 2; an ensemble of them."""
    made = built.build(tmp_path / "build")
    catalog = files.read_yaml(layout.plan(made)) | {"seeds": [1, 2]}
    files.write_yaml(layout.plan(made), catalog)
    second = layout.run(made, "one", 2)
    shutil.copytree(layout.run(made, "one", 1), second)
    files.write_json(second / layout.METRICS, files.read_json(second / layout.METRICS) | {"seed": 2})
    seals.seal(second)
    for name in ("plan", "data", "manifest"):
        seals.seal(made / name)
    return made


def test_it_is_of_the_seeds_whose_trainings_have_ended_and_marked(build: Path, capsys: pytest.CaptureFixture[str]):
    interim.main(build, "1", 2, FOLLOWING)
    mark = f"Trainings go on (1 of 2 seeds are there), and verdicts can change. {FOLLOWING.capitalize()}."
    printed = capsys.readouterr().out
    assert f"{mark}\nLook at it: {layout.report(build)}/index.html" in printed
    assert "dvc exp run" not in printed
    assert "Trainings go on (1 of 2 seeds are there)" in (layout.report(build) / "index.html").read_text("utf-8")
    runs = pd.read_csv(layout.report(build) / "results.csv")
    assert sorted(zip(runs["variant"], runs["seed"], strict=True)) == [("one", 1), ("two", 1), ("vote", 1)]


def test_it_is_printed_before_models_are_merged_and_written_again_afterwards(
    build: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    page = layout.report(build) / "index.html"

    def merge_all(build: Path, out: Path) -> list[str]:
        assert f"Look at it: {page}" in capsys.readouterr().out
        page.write_text("")
        return ["both, seed 1: merged"]

    monkeypatch.setattr(merging, "merge_all", merge_all)
    interim.main(build, "1", 2, FOLLOWING)
    assert "Trainings go on (1 of 2 seeds are there)" in page.read_text("utf-8")
    assert capsys.readouterr().out == ""


def test_a_run_of_before_whose_training_has_failed_is_left_out(build: Path, capsys: pytest.CaptureFixture[str]):
    settings = {"variant": "two", "tasks": ["sst"], "phases": [], "model": {"adapter": {"name": "pals", "dim": 60}}}
    files.write_yaml(layout.plan(build, "two"), settings | {"sources": {}})
    files.write_json(layout.manifest(build, "two"), made.MANIFEST | {"settings": settings})
    for name in ("plan", "data", "manifest"):
        seals.seal(build / name)
    interim.main(build, "1", 2, "")
    assert "Left out: two-1, trained before these changed: model.adapter not set -> pals" in capsys.readouterr().out
    runs = pd.read_csv(layout.report(build) / "results.csv")
    assert runs["variant"].tolist() == ["one"]


def test_it_leaves_the_tables_of_results_to_their_stage(build: Path):
    interim.main(build, "1", 2, "")
    assert not layout.results(build).exists()
    assert not layout.submissions(build).exists()


def test_before_the_first_seed_it_is_a_page_of_the_baselines(build: Path, capsys: pytest.CaptureFixture[str]):
    scored = {"variant": "baseline-tfidf", "seed": 0, "weights": 7, "dev": {"sst": 0.4125}, "test": {}}
    files.write_json(build / "baselines/baseline-tfidf/0/metrics.json", scored)
    interim.main(build, "", 6, FOLLOWING)
    assert capsys.readouterr().out == f"\nThe baselines are on the page: {layout.report(build)}/index.html\n\n"
    page = (layout.report(build) / "index.html").read_text("utf-8")
    assert "Trainings go on (baselines alone are there)" in page
    assert "TF-IDF" in page
    assert "SST-5 (accuracy)" in page
    assert "0.412" in page
    shutil.rmtree(build / "baselines")  # which is no whole one here
    interim.main(build, "1", 2, "")  # takes its place
    assert "Trainings go on (1 of 2 seeds are there)" in (layout.report(build) / "index.html").read_text("utf-8")


def test_without_baselines_there_is_no_page_before_the_first_seed(build: Path):
    interim.main(build, "", 6, FOLLOWING)
    assert not layout.report(build).exists()


@pytest.mark.parametrize(
    ("seeds", "folds", "words"),
    [
        ([1, 2], 5, " Models have no scores before 5 seeds are there, since each predicts another fold."),
        ([1, 2, 3, 4, 5], 5, ""),
        ([1], 0, ""),
    ],
)
def test_before_a_repeat_of_folds_is_whole_models_have_no_scores(seeds: list[int], folds: int, words: str):
    assert interim.of_folds(seeds, folds) == words
