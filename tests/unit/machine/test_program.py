"""A stage's command line, which a function's signature describes, and how a program ends."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtbert.errors import DataError
from mtbert.machine import program

CAME: list[object] = []


def train(variant: str, seed: int, build: Path = Path("build")) -> None:
    CAME[:] = [variant, seed, build]


def ended(monkeypatch: pytest.MonkeyPatch, main: object, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["stages/train.py", *arguments])
    with pytest.raises(SystemExit) as exit_:
        program.run(main)  # pyright: ignore[reportArgumentType]
    return exit_.value.code


@pytest.mark.parametrize(
    ("arguments", "came"),
    [(["pals", "1"], ["pals", 1, Path("build")]), (["5", "0", "a b/c"], ["5", 0, Path("a b/c")])],
)
def test_arguments_become_what_the_signature_says(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], came: list[object]
):
    assert ended(monkeypatch, train, *arguments) == 0
    assert came == CAME


def collect_seldom() -> None:
    CAME[:] = [gc.get_threshold()[0], gc.get_freeze_count()]


def test_the_collector_looks_seldom_while_a_program_runs_and_not_at_all_at_its_end(monkeypatch: pytest.MonkeyPatch):
    gc.unfreeze()  # other tests of the same process may have frozen something
    assert ended(monkeypatch, collect_seldom) == 0
    assert CAME == [10_000, 0]
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


@pytest.mark.parametrize("arguments", [[], ["pals"], ["pals", "one"], ["pals", "1", "build", "more"]])
def test_wrong_usage_ends_with_status_2(monkeypatch: pytest.MonkeyPatch, arguments: list[str]):
    assert ended(monkeypatch, train, *arguments) == 2


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DataError("qqp-train.csv:7: label is 2"), "error: qqp-train.csv:7: label is 2"),
        (DataError("red\x1b[2J\x07\x9b"), "error: red\\x1b[2J\\x07\\x9b"),
        (OSError(28, "No space left on device"), "error: No space left on device"),
        (FileNotFoundError(2, "No such file", "out"), "error: out: No such file"),
        (
            ModuleNotFoundError("", name="onnxruntime.x"),
            f"error: this command needs the package onnxruntime, which is not installed; {program.INSTALL}",
        ),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 1),
    ],
)  # fmt: skip
def test_a_fault_ends_the_program_with_one_line_and_no_traceback(error: BaseException, status: object):
    with pytest.raises(SystemExit) as exit_, program.report_errors():
        raise error
    assert exit_.value.code == status


@pytest.mark.parametrize("error", [ZeroDivisionError(), ModuleNotFoundError("", name="mtbert.nothing")])
def test_a_bug_keeps_its_traceback(error: Exception):
    with pytest.raises(type(error)), program.report_errors():
        raise error


def printed(code: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    script = f"import sys\nfrom mtbert.machine import program\nwith program.report_errors():\n    {code}"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=os.environ | environment, check=False
    )


LATIN = {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}


@pytest.mark.parametrize(
    ("code", "out", "environment"),
    [
        ("print('\\xe9 \\u2192 \\U0001f600')", b"\xe9 \\u2192 \\U0001f600\n", LATIN),
        ("print('a\\x1b[2Jb')", b"a\x1b[2Jb\n", {}),  # a file of predictions is not altered
    ],
)
def test_what_an_encoding_lacks_is_printed_as_its_code_and_all_else_as_it_is(
    code: str, out: bytes, environment: dict[str, str]
):
    assert printed(code, **environment).stdout == out


@pytest.mark.parametrize("end", ["", "; raise SystemExit(0)"])
def test_a_full_disk_behind_the_output_is_one_line(end: str):
    script = f"from mtbert.machine import program\nwith program.report_errors():\n    print('a'){end}"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"error: No space left on device\n")
