"""`mtbert export`: the command line's own part."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mtbert.cli import app
from mtbert.exporting import folders
from mtbert.using import loading
from mtbert.using.predicting import Ensemble, Model


def known(kind: type, **about: object) -> object:
    made = kind.__new__(kind)
    made.__dict__.update(about)
    return made


PALS = known(Model, name="pals", seed=2)


def test_what_is_asked_for_is_exported_on_the_cpu_and_told(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple] = []
    monkeypatch.setattr(loading, "load", lambda *arguments: asked.append(arguments) or PALS)
    monkeypatch.setattr(folders, "export", lambda *arguments: asked.append(arguments))
    arguments = ["export", "pals", "out/sst", "--format", "onnx", "--task", "sst", "--seed", "2", "--build", "here"]
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.output) == (0, "out/sst holds pals, seed 2; its README.md shows how to load it\n")
    assert asked == [("pals", 2, Path("here"), "cpu"), (PALS, "onnx", Path("out/sst"), "sst")]


def test_without_options_the_whole_model_is_written_for_transformers(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple] = []
    monkeypatch.setattr(loading, "load", lambda *arguments: PALS)
    monkeypatch.setattr(folders, "export", lambda *arguments: asked.append(arguments))
    assert CliRunner().invoke(app, ["export", "pals", "out"]).exit_code == 0
    assert asked == [(PALS, "hf", Path("out"), None)]


def test_an_ensemble_is_refused_with_its_members(monkeypatch: pytest.MonkeyPatch):
    both = known(Ensemble, name="both", members={"pals": None, "frozen-pals": None})
    monkeypatch.setattr(loading, "load", lambda *arguments: both)
    done = CliRunner().invoke(app, ["export", "both", "out"])
    assert isinstance(done.exception, folders.ExportError)
    assert str(done.exception) == "both is an ensemble: export its members, pals, frozen-pals"


def test_an_unknown_format_is_refused_with_those_that_there_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(loading, "load", lambda *arguments: PALS)
    done = CliRunner().invoke(app, ["export", "pals", str(tmp_path / "out"), "--format", "pickle"])
    assert isinstance(done.exception, folders.ExportError)
    assert "hf, sentence-transformers, onnx" in str(done.exception)
    assert not (tmp_path / "out").exists()
