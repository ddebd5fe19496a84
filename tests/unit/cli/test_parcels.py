"""`mtbert pack`, `run-packed`, `unpack`: the command line's own part."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mtbert.cli import app
from mtbert.parcels import packing, running


def test_seeds_and_variants_are_taken_as_numbers_and_names(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple] = []
    monkeypatch.setattr(packing, "pack", lambda *arguments: asked.append(arguments))
    arguments = ["pack", "out.tar", "--variants", "pals bert-sst", "--seeds", "1, 2 3", "--weights", "fp16"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert CliRunner().invoke(app, ["pack", "out.tar"]).exit_code == 0
    assert asked == [
        (Path("out.tar"), "pals bert-sst", [1, 2, 3], "fp16"),
        (Path("out.tar"), None, [], None),
    ]


@pytest.mark.parametrize("wrong", [["--seeds", "1 two"], ["--seeds", "-1"], ["--weights", "fp8"]])
def test_what_is_no_seed_and_no_precision_is_refused(wrong: list[str]):
    assert CliRunner().invoke(app, ["pack", "out.tar", *wrong]).exit_code == 2


def test_a_pack_is_run_from_the_folder_beside_it(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple] = []
    monkeypatch.setattr(running, "of_archive", lambda archive: archive.with_suffix(".folder"))
    monkeypatch.setattr(running, "start", lambda *arguments: asked.append(arguments))
    assert (
        CliRunner().invoke(app, ["run-packed", "p.tar", "--jobs", "3", "--minutes", "9.5", "--weights"]).exit_code == 0
    )
    assert asked == [(Path("p.folder"), Path("runs.tar"), 3, 9.5, True)]
