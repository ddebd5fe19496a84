"""What a variant starts from, by digest."""

import hashlib
import runpy
from pathlib import Path

import pytest

from mtbert import files
from mtbert.errors import DataError, EncoderError
from mtbert.provenance import inputs, manifests, seals

STAGE = Path(__file__).parents[3] / "stages/manifest.py"
MACHINE = {"processor": "i386", "accelerator": "", "torch": "2.13.0"}
CARD = {
    "name": "tiny", "source": "here", "sha256": "0" * 64, "note": "", "layers": 2, "width": 24, "positions": 128,
    "pooler": False,
}  # fmt: skip
CATALOG = {"variants": {"a": {"selected": True}, "b": {"selected": True}, "c": {"selected": False}}}


def settings(encoder: str, *tasks: str) -> dict:
    model = {"encoder": encoder, "pooling": dict.fromkeys(tasks, "cls"), "max_tokens": 128}
    phases = [{"tasks": list(tasks)}]
    return {"model": model, "tasks": list(tasks), "phases": phases, "sources": {"models/adapters/pals.py": "2"}}


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


def seal_all(build: Path) -> None:
    """As the stages do that write what a manifest names."""
    for made in ("data", "plan", "encoders/base", "encoders/sbert"):
        seals.seal(build / made)


def test_a_manifest_names_settings_code_and_machine(build: Path):
    found = manifests.of_now(build, "a")
    expected = settings("base", "sst")
    del expected["sources"]
    assert found.settings == expected
    assert found.code == {"model.py": "1", "models/adapters/pals.py": "2"}
    assert found.machine == inputs.machine(build)


def test_what_a_training_is_made_from_is_the_manifest_with_its_seed(build: Path):
    content = files.read_json(build / "manifest/a.json") if written(build) else {}
    found = manifests.of_training(build, "a", 3)
    files.write_text(build / "runs/a/3/inputs.json", found.text())
    assert files.read_json(build / "runs/a/3/inputs.json") == content | {"seed": 3}
    assert inputs.identity(build / "runs/a/3") == found.identity == files.sha256(build / "runs/a/3/inputs.json")
    assert manifests.of_training(build, "a", 4).identity != found.identity


def test_a_manifest_names_the_weights_and_the_examples_of_its_own_tasks(build: Path):
    named = manifests.of_now(build, "a").files
    assert named["encoders/base/model.safetensors"] == hashlib.sha256(b"base model.safetensors").hexdigest()
    assert list(named)[4:] == ["data/sst/train.parquet", "data/sst/dev.parquet"]  # not what does not lie there


def test_a_head_for_masked_words_is_named_where_the_encoder_has_one(build: Path):
    files.write_text(build / "encoders/base/mlm_head.safetensors", "head")
    assert "b.json" in written(build)
    named = {name: manifests.read(build, name).files for name in ("a", "b")}
    assert named["a"]["encoders/base/mlm_head.safetensors"] == hashlib.sha256(b"head").hexdigest()
    assert not any("mlm_head" in file for file in named["b"])  # which starts from sbert


def test_a_change_of_a_teacher_reaches_its_student_and_no_change_of_a_student_its_teacher(build: Path):
    files.write_yaml(build / "plan/a.yaml", settings("base", "sst") | {"teachers": ["b"]})
    before = written(build)
    assert manifests.read(build, "a").files["manifest/b.json"] == hashlib.sha256(before["b.json"]).hexdigest()
    files.write_yaml(build / "plan/b.yaml", settings("sbert", "sts") | {"profile": "another"})
    after = written(build)
    assert after["a.json"] != before["a.json"]
    files.write_text(build / "data/sst/train.parquet", "altered")
    assert written(build)["b.json"] == after["b.json"]


def test_a_student_is_refused_where_its_teachers_manifest_was_altered(build: Path):
    files.write_yaml(build / "plan/a.yaml", settings("base", "sst") | {"teachers": ["b"]})
    written(build)
    manifests.check(build, "a")
    files.write_text(build / "manifest/b.json", "altered")
    with pytest.raises(DataError, match=r"manifest/b\.json is missing, or not .*`dvc repro manifest manifest`"):
        manifests.check(build, "a")


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
    stage = runpy.run_path(str(STAGE))["main"]
    seal_all(build)
    stage(build, build / "manifest")
    over = settings("sbert", "sts")
    over["model"]["pooling"] = {"sts": "pooler"}
    files.write_yaml(build / "plan/b.yaml", over)
    seal_all(build)
    with pytest.raises(EncoderError, match=r"model\.pooling is pooler for sts, but tiny has none"):
        stage(build, build / "manifest")


def test_a_damaged_machine_is_told_with_what_makes_it(build: Path):
    (build / "machine.json").write_text('{"processor": 5}')
    with pytest.raises(DataError, match=r"machine\.json .*dvc repro machine"):
        written(build)


def test_a_manifest_names_the_corpora_that_are_reused_for_its_tasks(build: Path):
    files.write_text(build / "data/cfimdb_as_sst/train.parquet", "films")
    mixed = settings("base", "sst") | {"phases": [{"tasks": ["sst", "cfimdb_as_sst"]}]}
    files.write_yaml(build / "plan/a.yaml", mixed)
    assert list(manifests.of_now(build, "a").files)[4:] == [
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
    manifests.check(build, "a")  # starts from other files
    missing = rf"{file} is missing, or not .*manifest/b.json, .*`dvc repro {stage} manifest`"
    with pytest.raises(DataError, match=missing):
        manifests.check(build, "b")


def test_a_plan_of_other_settings_than_the_manifest_is_refused(build: Path):
    written(build)
    files.write_yaml(build / "plan/a.yaml", settings("base", "sst") | {"profile": "another"})
    with pytest.raises(DataError, match=r"plan/a\.yaml has other settings than .*`dvc repro plan manifest` makes both"):
        manifests.check(build, "a")


@pytest.mark.parametrize("change", [{"files": {}}, {"files": ["a"]}, {"code": 1}])
def test_a_manifest_that_names_less_than_it_has_to_is_refused(build: Path, change: dict):
    written(build)
    file = build / "manifest/a.json"
    files.write_json(file, files.read_json(file) | change)
    with pytest.raises(DataError, match=r"a\.json is damaged: .+; `dvc repro manifest` makes it again"):
        manifests.check(build, "a")


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
    seal_all(build)
    seals.check_build(build)
    content = bytearray((build / folder / file).read_bytes())
    content[-1] ^= 1
    (build / folder / file).write_bytes(content)
    with pytest.raises(DataError, match=rf"{folder} .*altered: {file}.*dvc repro {stage}`"):
        seals.check_build(build)
