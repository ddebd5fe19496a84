"""A build folder: where things lie, what makes them, and whether they are as they were written."""

from pathlib import Path

import pytest

from mtbert import files, layout
from mtbert.errors import DataError


def sealed(folder: Path) -> Path:
    for name, text in {"a.txt": "a", "b.txt": "b", "c/d.txt": "d"}.items():
        files.write_text(folder / name, text)
    layout.seal(folder)
    return folder


def test_a_sealed_folder_holds_the_digest_of_each_of_its_files(tmp_path: Path):
    assert files.read_json(sealed(tmp_path / "run") / "digests.json") == {
        "a.txt": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "b.txt": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
        "c/d.txt": "18ac3e7343f016890c510e93f935261169d9e3f565436429830faf0934f4f8e4",
    }
    layout.check_sealed(tmp_path / "run")


def test_what_is_altered_missing_or_too_many_is_named_with_what_makes_it_again(tmp_path: Path):
    run = sealed(tmp_path / "runs/pals/1")
    (run / "a.txt").write_text("A", encoding="utf-8")
    (run / "b.txt").unlink()
    (run / "c" / ".e.txt").touch()
    with pytest.raises(DataError) as error:
        layout.check_sealed(run)
    assert str(error.value) == (
        f"{run} is not as it was written (altered: a.txt, b.txt (missing), c/.e.txt (surplus)); "
        f"`rm -r {run} && chmod -R u+w .dvc/cache && dvc repro train@pals-1` makes it again"
    )


def test_of_a_sealed_folder_only_what_is_asked_for_is_read(tmp_path: Path):
    run = sealed(tmp_path / "run")
    (run / "a.txt").write_text("A", encoding="utf-8")
    layout.check_sealed(run, ["c/d.txt", "neither here nor there"])
    with pytest.raises(DataError, match=r"altered: a\.txt"):
        layout.check_sealed(run, ["a.txt"])


def test_a_log_lies_in_a_folder_named_after_the_results(tmp_path: Path):
    run = tmp_path / "runs" / "pals" / "1"
    files.write_text(run / "digests.json", "{}")
    assert layout.log(run) == tmp_path / "logs" / "pals" / "1" / "44136fa355b3"


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
