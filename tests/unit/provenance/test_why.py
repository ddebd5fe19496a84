"""Why a variant trains again: setting by setting, file by file, since the run that is there or the last one."""

from pathlib import Path

import pytest

from mtbert import files, layout
from mtbert.errors import UnknownNameError
from mtbert.provenance import changes, inputs, manifests, seals, why
from mtbert.provenance.changes import Change, InputKind
from mtbert.provenance.inputs import Inputs

MACHINE = {"processor": "one", "accelerator": "", "torch": "2"}
BEFORE = Inputs(
    settings={"pals.dim": "204", "training.epochs": "4"},
    code={"training/loop.py": "a", "models/adapters/pals.py": "b"},
    files={"data/sst/train.parquet": "c", "encoders/base/model.safetensors": "d"},
    machine=MACHINE,
)


def test_each_kind_of_input_is_told_settings_first():
    now = Inputs(
        settings={"pals.dim": "276", "training.epochs": "4", "pals.bias": "true"},
        code={"training/loop.py": "other", "models/adapters/pals.py": "b"},
        files={"data/sst/train.parquet": "other", "encoders/base/model.safetensors": "other"},
        machine=MACHINE | {"torch": "3"},
    )
    found = changes.between(BEFORE, now)
    assert found == [
        Change(InputKind.SETTING, "pals.bias", None, "true"),
        Change(InputKind.SETTING, "pals.dim", "204", "276"),
        Change(InputKind.DATA, "data/sst/train.parquet", "c", "other"),
        Change(InputKind.WEIGHTS, "encoders/base/model.safetensors", "d", "other"),
        Change(InputKind.CODE, "training/loop.py", "a", "other"),
        Change(InputKind.MACHINE, "torch", "2", "3"),
    ]
    assert [changes.in_words(change) for change in found] == [
        "pals.bias not set -> true",
        "pals.dim 204 -> 276",
        "data sst/train.parquet changed",
        "starting weights encoders/base/model.safetensors changed",
        "code training/loop.py changed",
        "torch 2 -> 3",
    ]
    assert why.line("pals", found) == (
        "pals trains: pals.bias not set -> true, pals.dim 204 -> 276, data sst/train.parquet changed "
        "and 3 more: mtbert why pals"
    )


def test_a_student_says_which_teacher_has_changed():
    before, now = (BEFORE.model_copy(update={"files": {"manifest/own-single-sst.json": digest}}) for digest in "ab")
    (found,) = changes.between(before, now)
    assert found == Change(InputKind.TEACHER, "manifest/own-single-sst.json", "a", "b")
    assert why.line("own-distilled", [found]) == "own-distilled trains: teacher own-single-sst changed"


def test_what_has_not_changed_has_no_change():
    assert changes.between(BEFORE, BEFORE) == []


def test_a_change_of_the_published_rows_is_told_since_a_variant_trains_again_for_it():
    now = BEFORE.model_copy(update={"settings": BEFORE.settings | {"also": [], "rival": "nash-mtl"}})
    assert changes.between(BEFORE, now) == [Change(InputKind.SETTING, "rival", None, "nash-mtl")]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Of one selected variant, `pals`."""
    manifest = {"files": {f"data/{name}": "c" for name in "abcde"}, "machine": MACHINE}
    manifest |= {"settings": {"pals": {"dim": 276}}, "code": {"models/adapters/pals.py": "b", "training/loop.py": "a"}}
    files.write_json(tmp_path / "manifest/pals.json", manifest)
    files.write_yaml(layout.plan(tmp_path), {"variants": {"pals": {"selected": True}, "lora": {"selected": False}}})
    return tmp_path


def trained(build: Path, dim: int, started: str, seed: int = 1, is_there: bool = False) -> None:
    """Write the log of a run that was made with another width, and the run, where it is there."""
    made_from = manifests.of_training(build, "pals", seed).model_copy(update={"settings": {"pals": {"dim": dim}}})
    folder = build / "logs/pals" / str(seed) / started
    if is_there:
        run = build / "runs/pals" / str(seed)
        files.write_text(run / layout.INPUTS, made_from.text())
        seals.seal(run)
        folder = layout.log(run)
    files.write_json(folder / "run.json", {"started": started})
    files.write_text(folder / layout.INPUTS, made_from.text())


def as_of_an_earlier_version(run: Path) -> None:
    """Leave what it was made from in its log alone, with the settings by their names in params.yaml."""
    (run / layout.INPUTS).unlink()
    seals.seal(run)
    settings = {"settings": {"pals.dim": "204"}, "revision": "0f1e"}
    code = {"models/adapters/pals.py": "b", "training/loop.py": "a"}
    before = {"code": code, "files": {f"data/{name}": "c" for name in "abcde"}, "machine": MACHINE}
    files.write_json(layout.log(run) / "inputs.json", before | settings)


def test_a_variant_that_was_not_trained_has_no_change(build: Path):
    assert why.changed(build) == {}
    assert why.explain(build, "pals") == "pals has not been trained here"


def test_the_run_that_is_there_is_compared(build: Path):
    trained(build, 204, "2026-01-02", is_there=True)
    trained(build, 12, "2026-01-03")
    assert why.changed(build) == {"pals": [Change(InputKind.SETTING, "pals.dim", "204", "276")]}


def test_else_the_last_one_of_any_seed_is(build: Path):
    trained(build, 204, "2026-01-02", seed=2)
    trained(build, 12, "2026-01-01")
    assert why.explain(build, "pals") == ("pals trains, since these differ from its last run:\n  pals.dim 204 -> 276")


def test_nothing_is_said_where_nothing_has_changed(build: Path):
    trained(build, 276, "2026-01-02")
    assert why.changed(build) == {}
    unchanged = "pals: nothing has changed since its last run, as of the last `dvc repro manifest`"
    assert why.explain(build, "pals") == unchanged


def test_a_variant_that_is_not_selected_is_an_error_that_names_those_that_are(build: Path):
    with pytest.raises(UnknownNameError, match="unknown selected variant 'pal'; did you mean pals"):
        why.explain(build, "pal")


def test_a_run_is_compared_with_the_inputs_of_now_where_both_are_known(build: Path):
    trained(build, 204, "2026-01-02", seed=2, is_there=True)
    run = build / "runs/pals/2"
    assert why.changes_since(run) == [Change(InputKind.SETTING, "pals.dim", "204", "276")]
    assert [*why.notes([run])] == [
        "pals, seed 2, was trained before these changed: pals.dim 204 -> 276; `dvc repro train@pals-2` trains it "
        "again (mtbert why pals)"
    ]
    (build / "manifest/pals.json").unlink()  # it is not selected any more
    assert why.changes_since(run) == []


def test_examples_and_plan_that_changed_since_the_manifest_count(build: Path):
    trained(build, 276, "2026-01-02", is_there=True)
    assert why.changes_since(build / "runs/pals/1") == []
    files.write_json(layout.data_report(layout.data(build)), {})
    files.write_text(build / "data/sst/train.parquet", "rows")
    plan = {"tasks": ["sst"], "phases": [], "sources": {}, "pals": {"dim": 12}}
    files.write_yaml(layout.plan(build, "pals"), plan)
    found = why.changes_since(build / "runs/pals/1")
    assert found[:2] == [
        Change(InputKind.SETTING, "pals.dim", "276", "12"),
        Change(InputKind.SETTING, "tasks", None, '["sst"]'),
    ]
    assert found[-1] == Change(InputKind.DATA, "data/sst/train.parquet", None, files.sha256_of(b"rows"))
    assert why.explain(build, "pals").splitlines()[1] == "  pals.dim 276 -> 12"


def test_a_model_without_a_manifest_is_compared_by_its_rows(build: Path):
    made_from = {"settings": {}, "code": {}, "files": {"data/sst/dev.parquet": "before"}}
    baseline = build / "baselines/tfidf/0"
    files.write_json(baseline / layout.INPUTS, made_from)
    assert why.changes_since(baseline) == []  # no data: it was moved
    files.write_json(layout.data_report(layout.data(build)), {})
    assert why.changes_since(baseline) == [Change(InputKind.DATA, "data/sst/dev.parquet", "before", None)]
    assert [*why.notes([baseline])] == [
        "tfidf, seed 0, was trained before these changed: data sst/dev.parquet removed; `dvc repro baselines` trains "
        "it again"
    ]


def test_of_a_run_of_an_earlier_version_its_log_tells_what_it_was_made_from(build: Path):
    trained(build, 204, "2026-01-02", is_there=True)
    run = build / "runs/pals/1"
    as_of_an_earlier_version(run)
    assert why.changes_since(run) == [Change(InputKind.SETTING, "pals.dim", "204", "276")]
    assert why.changed(build) == {"pals": why.changes_since(run)}
    assert inputs.identity(run) == files.sha256(layout.log(run) / "inputs.json")
