"""What a variant starts from, by digest."""

import hashlib
from pathlib import Path

import pytest

from mtbert import files, inputs
from mtbert.errors import DataError

CATALOG = {"variants": {"a": {"selected": True}, "b": {"selected": True}, "c": {"selected": False}}}


def settings(encoder: str, *tasks: str) -> dict:
    return {"model": {"encoder": encoder}, "tasks": list(tasks), "phases": [{"tasks": list(tasks)}]}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    for encoder in ("base", "sbert"):
        for name in ("model.safetensors", "config.json", "tokenizer.json"):
            files.write_text(tmp_path / "encoders" / encoder / name, f"{encoder} {name}")
    for file in ("sst/train", "sst/dev", "sts/train", "sts/dev", "sts/test"):
        files.write_text(tmp_path / "data" / f"{file}.parquet", file)
    files.write_yaml(tmp_path / "plan/catalog.yaml", CATALOG)
    files.write_yaml(tmp_path / "plan/a.yaml", settings("base", "sst"))
    files.write_yaml(tmp_path / "plan/b.yaml", settings("sbert", "sts"))
    return tmp_path


def written(build: Path) -> dict[str, bytes]:
    inputs.write(build / "plan", build, build / "init")
    return {file.name: file.read_bytes() for file in (build / "init").iterdir()}


def test_a_manifest_names_the_weights_and_the_examples_of_its_own_tasks(build: Path):
    manifest = inputs.manifest(settings("base", "sst"), build)
    assert manifest["encoder"]["path"] == "encoders/base"
    assert manifest["encoder"]["model.safetensors"] == hashlib.sha256(b"base model.safetensors").hexdigest()
    assert list(manifest["data"]) == ["data/sst/train.parquet", "data/sst/dev.parquet"]


def test_selected_variants_alone_have_one(build: Path):
    assert sorted(written(build)) == ["a.json", "b.json"]


@pytest.mark.parametrize(
    ("file", "concerned"),
    [
        ("data/sst/train.parquet", {"a.json"}),
        ("data/sts/test.parquet", {"b.json"}),
        ("encoders/base/model.safetensors", {"a.json"}),
        ("encoders/sbert/config.json", {"b.json"}),
    ],
)
def test_a_change_reaches_only_those_that_it_concerns(build: Path, file: str, concerned: set[str]):
    before = written(build)
    files.write_text(build / file, "altered")
    after = written(build)
    assert {name for name in before if before[name] != after[name]} == concerned


def test_weights_that_are_missing_are_told_with_the_command_that_makes_them(build: Path):
    (build / "encoders/sbert/model.safetensors").unlink()
    with pytest.raises(DataError, match=r"encoders/sbert holds no model\.safetensors; `dvc repro pretrain`"):
        written(build)


def test_a_manifest_names_the_corpora_that_are_reused_for_its_tasks(build: Path):
    files.write_text(build / "data/cfimdb/train.parquet", "films")
    mixed = settings("base", "sst") | {"phases": [{"tasks": ["sst", "cfimdb_as_sst"]}]}
    assert list(inputs.manifest(mixed, build)["data"]) == [
        "data/sst/train.parquet", "data/sst/dev.parquet", "data/cfimdb/train.parquet",
    ]  # fmt: skip
