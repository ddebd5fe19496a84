"""A build folder: where things lie, and what makes them."""

from pathlib import Path

import pytest

from mtbert import files, layout


def test_a_log_lies_in_a_folder_named_after_the_inputs_of_an_earlier_version_after_the_seal(tmp_path: Path):
    run = tmp_path / "runs" / "pals" / "1"
    files.write_text(run / "digests.json", "{}")
    assert layout.log(run) == tmp_path / "logs" / "pals" / "1" / "44136fa355b3"
    files.write_text(run / "inputs.json", "[]")
    assert layout.log(run) == tmp_path / "logs" / "pals" / "1" / "4f53cda18c2b"


@pytest.mark.parametrize(
    ("folder", "stage"),
    [
        ("plan", "plan"),
        ("data", "preprocess"),
        ("manifest", "manifest"),
        ("encoders/base", "encoder"),
        ("encoders/sbert", "pretrain"),
        ("runs/pals/1", "train@pals-1"),
        ("merged/own-merged-mean/1", "merge"),
        ("baselines/baseline-tfidf/0", "baselines"),
    ],
)
def test_each_folder_is_made_by_a_stage(folder: str, stage: str):
    assert layout.stage(Path("build", folder)) == stage


@pytest.mark.parametrize(
    ("file", "stage"), [("encoders/base/config.json", "encoder"), ("data/sst/train.parquet", "preprocess")]
)
def test_an_input_of_a_training_is_made_by_a_stage(file: str, stage: str):
    assert layout.stage_of_input(Path("build"), file) == stage


def test_models_are_the_finished_runs_and_merges_and_baselines_that_can_predict(tmp_path: Path):
    for folder in ("runs/pals/1", "merged/mean/2", "runs/pals/.1.partial"):
        files.write_text(tmp_path / folder / "metrics.json", "{}")
    (tmp_path / "runs/pals/3").mkdir()
    for name in ("baseline-tfidf/0/model.safetensors", "untrained-encoder/0/metrics.json"):
        files.write_text(tmp_path / "baselines" / name, "{}")
    expected = ["runs/pals/1", "merged/mean/2", "baselines/baseline-tfidf/0"]
    assert layout.models(tmp_path) == [tmp_path / folder for folder in expected]


def test_a_variant_has_runs_and_logs_also_of_runs_that_are_gone(tmp_path: Path):
    for folder in ("runs/pals/2", "runs/pals/1", "runs/other/1", "runs/pals/.3.partial", "logs/pals/4/c0de"):
        (tmp_path / folder).mkdir(parents=True)
    assert layout.runs_of(tmp_path, "pals") == [tmp_path / "runs/pals/1", tmp_path / "runs/pals/2"]
    assert layout.logs_of(tmp_path, "pals") == [tmp_path / "logs/pals/4/c0de"]
