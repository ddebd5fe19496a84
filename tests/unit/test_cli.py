"""The command `mtbert`: what it lists, how fast it starts, how it ends."""

import re
import subprocess
import sys
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mtbert import cli, replication
from mtbert.cli import app
from mtbert.inference import exporting, loading
from mtbert.inference.compressing import Compression
from mtbert.inference.model import Model
from mtbert.judge import NO_PLAN
from mtbert.machine import locking
from mtbert.provenance import why
from mtbert.replication import report as reports
from mtbert.scores import evidence, tables
from mtbert.serving import start
from mtbert.serving.options import Options
from mtbert.study import curves, parts, selecting
from mtbert.study import run as study
from mtbert.trainings import grid, packs

PALS = Model.__new__(Model)
PALS.name, PALS.seed, PALS.run = "pals", 2, Path("build/runs/pals/2")
LARGE = ("torch", "dvc", "mlflow", "pandas", "numpy", "transformers", "scipy")


def called(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mtbert", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


def test_the_version():
    assert called("--version").stdout == f"mtbert {metadata.version('mtbert')}\n"


def test_the_help_imports_nothing_large():
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mtbert", "--help"], capture_output=True, text=True, check=True
    )
    found = set(re.findall(r"\|\s+(\w+)$", shown.stderr, re.MULTILINE))
    assert "typer" in found
    assert found.isdisjoint(LARGE)


def test_a_process_ends_with_a_status_and_one_plain_fault(tmp_path: Path):
    ended = called("predict", "nobody", "--task", "sst", "a film", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: nobody is no folder of a finished run")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["tables", "nowhere"], 1, "error: nowhere/plan/catalog.yaml is missing; `dvc repro plan` makes it"),
        (["predict", "pals"], 2, "pass either sentences or --file"),
        (["predict", "pals", "a", "--encoding", "cp1252"], 2, "Invalid value for --encoding: is that of --file"),
        (["report", "other", "--evidence", "evidence"], 2, "makes a report without other; give one of the two"),
        (["predicct"], 2, "No such command 'predicct'. Did you mean 'predict'?"),
    ],
)
def test_it_ends_with_a_status_and_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    arguments: list[str], status: int, said: str,
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mtbert", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    is_text = isinstance(ended.value.code, str)  # which Python prints, and ends with 1
    assert (1 if is_text else ended.value.code, out) == (status, "")
    assert said in (str(ended.value.code) if is_text else err)


LAPTOP = Path(__file__).parents[2] / "reports/laptop"  # has the evidence of a third of the budget beside the other
EACH: list[tuple[Any, str, list[str], tuple]] = [
    (grid, "run", ["grid", "--jobs", "3", "--variants", "a b", "--storage", "/s"], (3, "a b", None, None, "/s")),
    (grid, "run", ["grid", "--address", "h:1", "--gpus", "0.25"], (None, None, "h:1", 0.25, None)),
    (
        start,
        "serve",
        ["serve", "o", "--port", "1", "--workers", "2", "--threads", "3", "--batch", "4", "--wait", "5", "--body", "1"],
        (Options(Path("o"), 3, 4, 0.005, 1024, 2**20), "127.0.0.1", 1, 2),
    ),
    (packs, "pack", ["pack", "o", "--variants", "a b"], (Path("o"), "a b")),
    (evidence, "write", ["evidence", "a", "b", "--out", "o"], (["a", "b"], Path("o"))),
    (
        reports,
        "write",
        ["report", "--evidence", "/r/evidence", "--out", "o"],
        (("/r/evidence", None, NO_PLAN), Path("o"), None),
    ),
    (
        reports,
        "write",
        ["report", "--evidence", "/r/evidence"],
        (("/r/evidence", None, NO_PLAN), Path("/r"), None),
    ),
    (
        reports,
        "write",
        ["report", "--evidence", f"{LAPTOP}/evidence", "--out", "o"],
        ((f"{LAPTOP}/evidence", f"{LAPTOP}/third", NO_PLAN), Path("o"), None),
    ),
    (
        exporting,
        "export",
        ["export", "pals", "o", "--format", "onnx"],
        (PALS, "onnx", Path("o"), None, False, Compression()),
    ),
    (exporting, "export", ["export", "pals", "o"], (PALS, "hf", Path("o"), None, False, Compression())),
    (
        exporting,
        "export",
        ["export", "pals", "o", "--format", "onnx", "--int8", "--max-tokens", "64", "--unproved"],
        (PALS, "onnx", Path("o"), None, False, Compression(int8=True, max_tokens=64, unproved=True)),
    ),
]


@pytest.mark.parametrize(("module", "name", "arguments", "expected"), EACH, ids=[" ".join(one[2]) for one in EACH])
def test_what_was_said_is_handed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: Any, name: str, arguments: list[str], expected: tuple
):
    asked: list[tuple] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loading, "load_any", lambda *_: PALS)
    monkeypatch.setattr(why, "notes", lambda _: [])
    monkeypatch.setattr(tables, "read", str)
    monkeypatch.setattr(locking, "exclusive", lambda *_: nullcontext())
    monkeypatch.setattr(replication, "replicate", lambda *given: given)
    monkeypatch.setattr(evidence, "merged", lambda sources: [*map(str, sources)])
    monkeypatch.setattr(module, name, lambda *given: asked.append(given))
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.exception) == (0, None)
    assert asked == [expected]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "--evidence", "/r/mine"], "is not called evidence"),
        (["grid", "--address", "h:1", "--gpus", "1.5"], "Invalid value for '--gpus'"),
        (["unpack"], "Missing argument 'archive'"),
        (["study", "desk", "--quick", "--seeds", "6"], "is one seed of three ways, and --seeds says 6"),
        (["study", "desk", "--curve", "--params", "elsewhere/params.yaml"], "go to that of elsewhere/params.yaml"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_status_2(arguments: list[str], said: str):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert said in done.output


def test_variants_are_listed_with_paper_and_row_and_a_star_where_they_are_trained():
    lines = [line.split() for line in called("variants").stdout.splitlines()]
    assert [line for line in lines if line[1:2] == ["pals"] or line[0] == "mypal-pals"] == [
        ["mypal-pals", "My", "PAL", "BERT", "1", "BERT", "+", "PALs"],
        ["*", "pals", "Pals", "for", "PALs", "Original", "PALs"],
    ]


@pytest.mark.parametrize(
    ("options", "is_prepared_anew"), [([], False), (["--encoding", "cp1252"], True), (["--seeds", "4"], True)]
)
def test_a_curve_of_a_prepared_study_prepares_it_anew_only_with_other_options(
    monkeypatch: pytest.MonkeyPatch, options: list[str], is_prepared_anew: bool
):
    prepared: list[object] = []
    monkeypatch.setattr(selecting, "is_prepared", lambda *_: True)
    monkeypatch.setattr(study, "run", lambda *given: prepared.append(given))
    monkeypatch.setattr(curves, "run", lambda *_: None)
    monkeypatch.setattr(parts, "select", lambda *_: None)
    done = CliRunner().invoke(app, ["study", "desk", "--curve", *options])
    assert (done.exception, bool(prepared)) == (None, is_prepared_anew)


def test_a_report_waits_for_another(monkeypatch: pytest.MonkeyPatch):
    held: list[tuple] = []
    monkeypatch.setattr(tables, "read", str)
    monkeypatch.setattr(replication, "replicate", lambda *given: given)
    monkeypatch.setattr(reports, "write", lambda *_: f"written with {held}")
    monkeypatch.setattr(locking, "exclusive", lambda *lock: held.append(lock) or nullcontext())
    done = CliRunner().invoke(app, ["report", "--evidence", "/r/evidence"])
    assert done.stdout == f"written with {[(Path('/.r.lock.partial'), 'report')]}\n"  # no build folder is made
