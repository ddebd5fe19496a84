"""Subcommands that start what has tests of its own: what the command line hands on, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mtbert import search, tracking
from mtbert.cli import app
from mtbert.grid import run
from mtbert.report import write
from mtbert.results import collect, merge, tables
from mtbert.tracking import ui

EACH: list[tuple[Any, str, list[str], tuple]] = [
    (run, "start", ["grid"], (None, None, None, None)),
    (run, "start", ["grid", "--jobs", "3", "--variants", "pals sbert-pals"], (3, "pals sbert-pals", None, None)),
    (run, "start", ["grid", "--address", "h:1", "--gpus", "0.25"], (None, None, "h:1", 0.25)),
    (search, "start", ["search"], (1, None)),
    (search, "start", ["search", "--jobs", "2", "--only", "setting"], (2, "setting")),
    (tracking, "bring_in", ["track", "b"], (Path("b"),)),
    (ui, "serve", ["ui"], (["5000"],)),
    (ui, "serve", ["ui", "5001"], (["5001"],)),
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


@pytest.mark.parametrize(
    ("arguments", "sources", "out"),
    [([], ["build"], "reports/sample/evidence"), (["b", "c", "--out", "o"], ["b", "c"], "o")],
)
def test_evidence_is_of_the_sources_and_beside_the_report(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], sources: list[str], out: str
):
    asked: list[object] = []
    monkeypatch.setattr("mtbert.files.report_directory", lambda build, reports: reports / "sample")
    monkeypatch.setattr(merge, "merge", lambda given: given)
    monkeypatch.setattr(merge, "write", lambda *given: asked.append(given))
    assert CliRunner().invoke(app, ["evidence", *arguments]).exception is None
    assert asked == [([*map(Path, sources)], Path(out))]


@pytest.mark.parametrize(("arguments", "out"), [(["--out", "o"], "o"), ([], "/r")])
def test_the_report_of_evidence_goes_around_it_or_to_a_folder_that_is_named(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], out: str
):
    monkeypatch.setattr(tables, "read", lambda folder: folder)
    monkeypatch.setattr(write, "write", lambda *given: " ".join(map(str, given)))
    assert CliRunner().invoke(app, ["report", "--evidence", "/r/evidence", *arguments]).output == f"/r/evidence {out}\n"


def test_the_report_of_a_build_goes_below_the_reports_folder(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple] = []
    monkeypatch.setattr("mtbert.files.report_directory", lambda build, reports: reports / "sample")
    monkeypatch.setattr(collect, "write", lambda *given: asked.append(given))
    monkeypatch.setattr(tables, "read", lambda folder: folder)
    monkeypatch.setattr(write, "write", lambda *given: asked.append(given) or "the tables")
    monkeypatch.setattr(write, "for_dvc", lambda *given: asked.append(given))
    monkeypatch.setattr("mtbert.report.submissions.write", lambda *given: asked.append(given))
    done = CliRunner().invoke(app, ["report", "b", "r"])
    assert done.output == "the tables\n"
    assert asked == [
        (Path("b"), Path("b/results"), Path("b/ensembles")), (Path("b/results"), Path("r/sample")),
        (Path("b/results"), Path("b/submissions")), (Path("r/sample"), Path("r")),
    ]  # fmt: skip


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
