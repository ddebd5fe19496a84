"""Subcommands that start what has tests of its own: what the command line hands on, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mtbert import ensembling, search, tracking
from mtbert.cli import app
from mtbert.grid import run
from mtbert.reporting import __main__ as tables
from mtbert.reporting import archive, report
from mtbert.tracking import ui

EACH: list[tuple[Any, str, list[str], tuple]] = [
    (run, "start", ["grid"], (None, None, None, None)),
    (run, "start", ["grid", "--jobs", "3", "--variants", "pals sbert-pals"], (3, "pals sbert-pals", None, None)),
    (run, "start", ["grid", "--address", "h:1", "--gpus", "0.25"], (None, None, "h:1", 0.25)),
    (search, "start", ["search"], (1, None)),
    (search, "start", ["search", "--jobs", "2", "--only", "setting"], (2, "setting")),
    (archive, "main", ["evidence"], (Path("build"), Path("reports"), False, ensembling.ensemble, False)),
    (archive, "main", ["evidence", "b", "r", "--add"], (Path("b"), Path("r"), True, ensembling.ensemble, False)),
    (archive, "main", ["evidence", "b", "r", "--anew"], (Path("b"), Path("r"), False, ensembling.ensemble, True)),
    (tables, "main", ["tables", "b"], (Path("b"),)),
    (tracking, "bring_in", ["track", "b"], (Path("b"),)),
    (ui, "serve", ["ui"], (5000,)),
    (ui, "serve", ["ui", "5001"], (5001,)),
    (report, "anew", ["report", "--evidence", "/r/evidence", "--out", "o"], (Path("/r/evidence"), Path("o"))),
    (report, "anew", ["report", "--evidence", "/r/evidence"], (Path("/r/evidence"), Path("/r"))),
]


@pytest.mark.parametrize(("module", "name", "arguments", "expected"), EACH, ids=[" ".join(one[2]) for one in EACH])
def test_what_was_said_is_handed_on(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, arguments: list[str], expected: tuple
):
    asked: list[tuple] = []
    monkeypatch.setattr(module, name, lambda *given: asked.append(given))
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.exception) == (0, None)
    assert asked == [expected]


def test_the_report_of_a_build_goes_below_the_reports_folder(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple] = []
    monkeypatch.setattr("mtbert.files.report_directory", lambda build, reports: reports / "sample")
    monkeypatch.setattr(report, "write", lambda *given: asked.append(given) or "the tables")
    monkeypatch.setattr(report, "for_dvc", lambda *given: asked.append(given))
    done = CliRunner().invoke(app, ["report", "b", "r"])
    assert done.output == "the tables\n"
    assert asked == [(Path("b"), Path("r/sample"), Path("b/submissions")), (Path("r/sample"), Path("r"))]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "--only", "weights"], "'weights' is not one of 'rates', 'setting'"),
        (["search", "--jobs", "0"], "--jobs"),
        (["report", "--out", "o"], "needs --evidence"),
        (["report", "--evidence", "/r/mine"], "is not called evidence"),
        (["ui", "65536"], "Input should be less than or equal to 65535"),
        (["run-packed"], "Missing argument 'archive'"),
        (["unpack"], "Missing argument 'archive'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_status_2(arguments: list[str], said: str):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert said in done.output
