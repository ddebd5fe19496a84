"""Each stage's script, given a plan that is missing or damaged: one line that says what makes it, and no traceback."""

import os
import runpy
import sys
from pathlib import Path

import built
import pytest

from mtbert import files
from mtbert.provenance import seals

STAGES = Path(__file__).parents[2] / "stages"
PLAN = "build/plan"
COMMANDS = [  # the file of the plan that each misses, and its script's arguments
    ("catalog", "manifest", "build", "build/manifest"),
    ("catalog", "track", "build"),
    ("catalog", "collect", "build", "build/results"),
    ("catalog", "judge", "build", "build/judged"),
    ("encoder", "encoder", f"{PLAN}/encoder.yaml", "data", "build/encoders/base"),
    ("preprocess", "preprocess", "data", "build/encoders/base", "build/data", f"{PLAN}/preprocess.yaml"),
    ("pretrain", "pretrain", f"{PLAN}/pretrain.yaml", "build"),
]


def told(monkeypatch: pytest.MonkeyPatch, place: Path, stage: str, *arguments: str) -> str:
    """How a stage's script, started in that folder, ends."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", [f"{stage}.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(STAGES / f"{stage}.py"), run_name="__main__")
    return str(ended.value.code)


@pytest.mark.parametrize("content", [None, "", "{pals: 5}"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_or_damaged_plan_is_told_with_what_makes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...], content: str | None
):
    if content is not None:
        files.write_text(tmp_path / f"{PLAN}/{command[0]}.yaml", content)
        seals.seal(tmp_path / PLAN)
    message = told(monkeypatch, tmp_path, *command[1:])
    assert message.startswith(f"error: {PLAN}/{command[0]}.yaml is {'missing' if content is None else 'damaged'}")
    assert "`dvc repro plan` makes it" in message


@pytest.mark.parametrize(
    ("file", "again"),
    [("data/sst/dev.parquet", "preprocess"), ("plan/pals.yaml", "plan"), ("manifest/pals.json", "manifest")],
)
def test_an_altered_input_is_told_with_what_makes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, again: str
):
    folder, _, name = file.partition("/")
    files.write_text(tmp_path / "build" / file, "whole")
    seals.seal(tmp_path / "build" / folder)
    files.write_text(tmp_path / "build" / file, "altered")
    message = told(monkeypatch, tmp_path, "collect", "build", "build/results")
    assert message.startswith(f"error: build/{folder} is not as it was written (altered: {name}); ")
    assert f"dvc repro {again}`" in message


@pytest.mark.parametrize(
    ("stage", "folder", "reason"),
    [
        ("merge", "merged", "selects no ensemble that is merged"),
        ("ensemble", "votes", "selects no ensemble that votes"),
    ],
)
def test_where_no_ensemble_is_selected_the_folder_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: str, folder: str, reason: str
):
    """DVC warns of an empty one."""
    build = built.build(tmp_path / "build")
    files.write_yaml(build / "plan/catalog.yaml", files.read_yaml(build / "plan/catalog.yaml") | {"ensembles": {}})
    for name in ("plan", "data", "manifest"):
        seals.seal(build / name)
    assert told(monkeypatch, tmp_path, stage, "build", f"build/{folder}") == "0"
    assert [file.name for file in (build / folder).iterdir()] == ["nothing.txt"]
    assert reason in (build / folder / "nothing.txt").read_text()


def set_data_dir(place: Path, value: str) -> None:
    """Write the settings into a folder, with another `data_dir`."""
    text = (STAGES.parent / "params.yaml").read_text()
    (place / "params.yaml").write_text(text.replace("data_dir: data/sample", f"data_dir: {value}"))
    (place / "papers").symlink_to(STAGES.parent / "papers")


def test_plan_and_examples_are_made_again_together_where_tasks_yaml_has_changed():
    stages = files.read_yaml(STAGES.parent / "dvc.yaml")["stages"]
    assert [name for name in ("plan", "preprocess") if "${data_dir}" in stages[name]["deps"]] == ["plan", "preprocess"]


def test_a_data_dir_with_credentials_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """It would stand in plan files, in dvc.lock and in the report's command."""
    set_data_dir(tmp_path, "https://ann:s3cret@host/x")
    message = told(monkeypatch, tmp_path, "plan", "params.yaml", "plan")
    assert "data_dir: https://***@host/x is no folder; allowed: data/sample" in message
    assert not (tmp_path / "plan").exists()
    assert "git checkout" not in message


@pytest.mark.parametrize(("root", "is_told"), [(".", True), ("elsewhere", False)])
def test_a_refused_value_that_dvc_has_written_into_the_working_tree_is_told_with_what_undoes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: str, is_told: bool
):
    """In the copy of `dvc exp run --temp`, DVC_ROOT names the working tree, which has the file as it was."""
    set_data_dir(tmp_path, "nowhere")
    monkeypatch.setenv("DVC_EXP_NAME", "some-name")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / root))
    os.utime(tmp_path / "params.yaml", (0, 0))
    message = told(monkeypatch, tmp_path, "plan", "params.yaml", "plan")
    assert ((tmp_path / "params.yaml").stat().st_mtime > 0) == is_told  # so that git looks at it again
    assert "data_dir: nowhere is no folder; allowed: data/sample" in message
    assert ("`git checkout params.yaml` undoes" in message) == is_told


def test_the_machine_on_which_a_build_was_begun_is_written_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "machine.json"
    for processor, kept in (("i386", "i386"), ("i486", "i386")):
        monkeypatch.setattr("mtbert.machine.hardware.processor", lambda processor=processor: processor)
        assert told(monkeypatch, tmp_path, "machine", str(file)) == "0"
        content = files.read_json(file)
        assert sorted(content) == ["accelerator", "precision", "processor", "torch"]
        assert content["processor"] == kept
    file.unlink()
    assert told(monkeypatch, tmp_path, "machine", str(file)) == "0"
    assert files.read_json(file)["processor"] == "i486"


def test_the_copy_of_an_experiment_has_the_machine_of_its_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """It may be measured another way a second time, and then everything would train in the copy."""
    files.write_text(tmp_path / "build/machine.json", '{"precision": "fp32", "processor": "i386"}')
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    copy = tmp_path / ".dvc/tmp/exps/one"
    copy.mkdir(parents=True)
    assert told(monkeypatch, copy, "machine", "build/machine.json") == "0"
    assert (copy / "build/machine.json").read_bytes() == (tmp_path / "build/machine.json").read_bytes()
