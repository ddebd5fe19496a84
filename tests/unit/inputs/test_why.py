"""Why a variant trains again: setting by setting, file by file, since the run that is there or the last one."""

from pathlib import Path

import pytest

from mtbert import files, layout
from mtbert.errors import UnknownNameError
from mtbert.inputs import manifests, why
from mtbert.inputs.why import Cause, InputKind
from mtbert.scores.schemas import Inputs

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
    found = why.causes(BEFORE, now)
    assert found == [
        Cause(InputKind.SETTING, "pals.bias", None, "true"),
        Cause(InputKind.SETTING, "pals.dim", "204", "276"),
        Cause(InputKind.DATA, "data/sst/train.parquet", "c", "other"),
        Cause(InputKind.WEIGHTS, "encoders/base/model.safetensors", "d", "other"),
        Cause(InputKind.CODE, "training/loop.py", "a", "other"),
        Cause(InputKind.MACHINE, "torch", "2", "3"),
    ]
    assert [why.in_words(cause) for cause in found] == [
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


def test_what_has_not_changed_has_no_cause():
    assert why.causes(BEFORE, BEFORE) == []


def test_the_digest_of_the_encoders_folder_is_kept_and_alone_trains_nothing_again(build: Path):
    now = why.of_now(build, "pals")
    assert now.revision == "0f1e"
    assert why.causes(now.model_copy(update={"revision": None}), now) == []


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Of one selected variant, `pals`, with the inputs that BEFORE holds, but for the settings."""
    files.write_yaml(tmp_path / "plan/pals.yaml", {"pals": {"dim": 276}, "sources": {"models/adapters/pals.py": "b"}})
    files.write_yaml(layout.plan(tmp_path, manifests.CODE), {"training/loop.py": "a"})
    files.write_yaml(layout.plan(tmp_path, manifests.ENCODER), {"name": "./models/mine", "revision": "0f1e"})
    manifest = {"files": {f"data/{name}": "c" for name in "abcde"}, "code": "f", "machine": MACHINE}
    files.write_json(tmp_path / "manifest/pals.json", manifest)
    files.write_json(tmp_path / "manifest/digests.json", {})
    return tmp_path


def trained(build: Path, dim: int, started: str, seed: int = 1, is_there: bool = False) -> None:
    """Write the log of a run that was made with another width, and the run, where it is there."""
    made_from = why.of_now(build, "pals").model_dump() | {"settings": {"pals.dim": str(dim)}}
    folder = build / "logs/pals" / str(seed) / started
    if is_there:
        files.write_json(build / "runs/pals" / str(seed) / layout.DIGESTS, {"a": started})
        folder = layout.log(build / "runs/pals" / str(seed))
    files.write_json(folder / "run.json", {"started": started})
    files.write_json(folder / layout.INPUTS, made_from)


def test_a_variant_that_was_not_trained_has_no_cause(build: Path):
    assert why.changed(build) == {}
    assert why.explain(build, "pals") == "pals has not been trained here"


def test_the_run_that_is_there_is_compared(build: Path):
    trained(build, 204, "2026-01-02", is_there=True)
    trained(build, 12, "2026-01-03")
    assert why.changed(build) == {"pals": [Cause(InputKind.SETTING, "pals.dim", "204", "276")]}


def test_else_the_last_one_of_any_seed_is(build: Path):
    trained(build, 204, "2026-01-02", seed=2)
    trained(build, 12, "2026-01-01")
    assert why.explain(build, "pals") == ("pals trains, since these differ from its last run:\n  pals.dim 204 -> 276")


def test_nothing_is_said_where_nothing_has_changed(build: Path):
    trained(build, 276, "2026-01-02")
    assert why.changed(build) == {}
    assert why.explain(build, "pals") == "pals: nothing has changed since its last run"


def test_a_variant_that_is_not_selected_is_an_error_that_names_those_that_are(build: Path):
    with pytest.raises(UnknownNameError, match="unknown selected variant 'pal'; did you mean pals"):
        why.explain(build, "pal")


def test_a_run_is_compared_with_the_inputs_of_now_where_both_are_known(build: Path):
    trained(build, 204, "2026-01-02", seed=2, is_there=True)
    run = build / "runs/pals/2"
    assert why.of_run(run) == [Cause(InputKind.SETTING, "pals.dim", "204", "276")]
    (build / "manifest/pals.json").unlink()  # it is not selected any more
    assert why.of_run(run) == []
