"""What a variant starts from, by digest."""

import hashlib
from pathlib import Path

import pytest

from mtbert import files, layout
from mtbert.errors import DataError, EncoderError
from mtbert.inputs import manifests

MACHINE = {"processor": "i386", "accelerator": "", "torch": "2.13.0"}
CARD = {
    "name": "tiny", "source": "here", "sha256": "0" * 64, "note": "", "layers": 2, "width": 24, "positions": 128,
    "pooler": False,
}  # fmt: skip
CATALOG = {"variants": {"a": {"selected": True}, "b": {"selected": True}, "c": {"selected": False}}}


def settings(encoder: str, *tasks: str) -> dict:
    model = {"encoder": encoder, "pooling": dict.fromkeys(tasks, "cls"), "max_tokens": 128}
    return {"model": model, "tasks": list(tasks), "phases": [{"tasks": list(tasks)}]}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    for encoder in ("base", "sbert"):
        for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
            files.write_text(tmp_path / "encoders" / encoder / name, f"{encoder} {name}")
        files.write_json(tmp_path / "encoders" / encoder / "encoder.json", CARD)
    for file in ("sst/train", "sst/dev", "sts/train", "sts/dev", "sts/test"):
        files.write_text(tmp_path / "data" / f"{file}.parquet", file)
    files.write_json(tmp_path / "machine.json", MACHINE)
    files.write_yaml(tmp_path / "plan/catalog.yaml", CATALOG)
    files.write_yaml(tmp_path / "plan/code-train.yaml", {"model.py": "1"})
    files.write_yaml(tmp_path / "plan/a.yaml", settings("base", "sst"))
    files.write_yaml(tmp_path / "plan/b.yaml", settings("sbert", "sts"))
    return tmp_path


def written(build: Path) -> dict[str, bytes]:
    manifests.write(build, build / "manifest")
    return {file.name: file.read_bytes() for file in (build / "manifest").iterdir() if file.name != "digests.json"}


def test_a_manifest_names_the_weights_and_the_examples_of_its_own_tasks(build: Path):
    named = manifests.manifest(settings("base", "sst"), build)["files"]
    assert named["encoders/base/model.safetensors"] == hashlib.sha256(b"base model.safetensors").hexdigest()
    assert list(named)[4:] == ["data/sst/train.parquet", "data/sst/dev.parquet"]


def test_a_head_for_masked_words_is_named_where_the_encoder_has_one(build: Path):
    files.write_text(build / "encoders/base/mlm_head.safetensors", "head")
    assert "b.json" in written(build)
    named = {name: manifests.read(build / "manifest" / f"{name}.json").files for name in ("a", "b")}
    assert named["a"]["encoders/base/mlm_head.safetensors"] == hashlib.sha256(b"head").hexdigest()
    assert not any("mlm_head" in file for file in named["b"])  # which starts from sbert


@pytest.mark.parametrize(
    ("file", "concerned"),
    [
        ("data/sst/train.parquet", {"a.json"}),
        ("data/sts/test.parquet", {"b.json"}),
        ("encoders/base/model.safetensors", {"a.json"}),
        ("encoders/sbert/config.json", {"b.json"}),
        ("machine.json", {"a.json", "b.json"}),
    ],
)
def test_a_change_reaches_only_those_that_it_concerns(build: Path, file: str, concerned: set[str]):
    before = written(build)
    assert sorted(before) == ["a.json", "b.json"]  # of the selected variants alone
    other = (build / file).read_text().replace("i386", "i486") if file == "machine.json" else "altered"
    files.write_text(build / file, other)
    after = written(build)
    assert {name for name in before if before[name] != after[name]} == concerned


def test_what_an_encoder_does_not_allow_is_refused_before_anything_trains(build: Path):
    files.write_yaml(build / "plan/b.yaml", over := settings("sbert", "sts"))
    written(build)
    over["model"]["pooling"] = {"sts": "pooler"}
    files.write_yaml(build / "plan/b.yaml", over)
    with pytest.raises(EncoderError, match=r"model\.pooling is pooler for sts, but tiny has none"):
        written(build)


def test_a_damaged_machine_is_told_with_what_makes_it(build: Path):
    (build / "machine.json").write_text('{"processor": 5}')
    with pytest.raises(DataError, match=r"machine\.json .*dvc repro machine"):
        written(build)


def test_a_manifest_names_the_corpora_that_are_reused_for_its_tasks(build: Path):
    files.write_text(build / "data/cfimdb_as_sst/train.parquet", "films")
    mixed = settings("base", "sst") | {"phases": [{"tasks": ["sst", "cfimdb_as_sst"]}]}
    assert list(manifests.manifest(mixed, build)["files"])[4:] == [
        "data/sst/train.parquet", "data/sst/dev.parquet", "data/cfimdb_as_sst/train.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "stage"),
    [
        ("data/sts/train.parquet", "preprocess"),
        ("encoders/sbert/model.safetensors", "pretrain"),
        ("encoders/sbert/tokenizer.json", "pretrain"),
    ],
)
@pytest.mark.parametrize("after", [b"altered", None])
def test_an_altered_or_missing_input_is_told_with_what_makes_it_again(
    build: Path, file: str, stage: str, after: bytes | None
):
    written(build)
    if after is None:
        (build / file).unlink()
    else:
        (build / file).write_bytes(after)
    manifests.check(build / "manifest/a.json", build)  # starts from other files
    missing = rf"{file} is missing, or not .*manifest/b.json, .*`dvc repro {stage} manifest`"
    with pytest.raises(DataError, match=missing):
        manifests.check(build / "manifest/b.json", build)


@pytest.mark.parametrize("change", [{"files": {"data/sst": "2b"}}, {"files": ["a"]}, {"code": 1}])
def test_a_manifest_that_names_less_than_it_has_to_is_refused(build: Path, change: dict):
    written(build)
    file = build / "manifest/a.json"
    files.write_json(file, files.read_json(file) | change)
    with pytest.raises(DataError, match=r"a\.json is damaged: .+; `dvc repro manifest` makes it again"):
        manifests.check(file, build)


@pytest.mark.parametrize(
    ("folder", "file", "stage"),
    [
        ("data", "sts/dev.parquet", "preprocess"),
        ("plan", "a.yaml", "plan"),
        ("manifest", "b.json", "manifest"),
        ("encoders/base", "model.safetensors", "encoder"),
        ("encoders/base", "encoder.json", "encoder"),
        ("encoders/sbert", "config.json", "pretrain"),
    ],
)
def test_a_flipped_bit_in_what_a_stage_wrote_is_refused(build: Path, folder: str, file: str, stage: str):
    written(build)
    for made in ("data", "plan", "encoders/base", "encoders/sbert"):
        layout.seal(build / made)
    layout.check_inputs(build)
    content = bytearray((build / folder / file).read_bytes())
    content[-1] ^= 1
    (build / folder / file).write_bytes(content)
    with pytest.raises(DataError, match=rf"{folder} .*altered: {file}.*dvc repro {stage}`"):
        layout.check_inputs(build)
