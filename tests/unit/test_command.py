"""A command line that a function's signature describes."""

import sys
from pathlib import Path

import pytest

from mtbert import command
from mtbert.errors import DataError

CAME: list[object] = []


def train(variant: str, seed: int, build: Path = Path("build")) -> None:
    CAME[:] = [variant, seed, build]


def fail(out: Path) -> None:
    raise DataError(f"{out} is full")


def ended(monkeypatch: pytest.MonkeyPatch, main: object, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["stages/train.py", *arguments])
    with pytest.raises(SystemExit) as exit_:
        command.run(main)  # pyright: ignore[reportArgumentType]
    return exit_.value.code


@pytest.mark.parametrize(
    ("arguments", "came"),
    [(["pals", "1"], ["pals", 1, Path("build")]), (["5", "0", "a b/c"], ["5", 0, Path("a b/c")])],
)
def test_arguments_become_what_the_signature_says(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], came: list[object]
):
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    command.run(train)
    assert came == CAME


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ([], "the following arguments are required: VARIANT, SEED"),
        (["pals"], "the following arguments are required: SEED"),
        (["pals", "one"], "argument SEED: 'one' is not a whole number of 0 or more"),
        (["pals", "-1"], "argument SEED: '-1' is not a whole number of 0 or more"),
        (["pals", "1", "build", "more"], "unrecognized arguments: more"),
    ],
)
def test_wrong_usage_is_told_with_the_right_one_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], wrong: str
):
    assert ended(monkeypatch, train, *arguments) == 2
    assert capsys.readouterr().err == f"usage: train.py VARIANT SEED [BUILD]\ntrain.py: error: {wrong}\n"


def test_help_is_the_usage_and_what_the_script_says_of_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert ended(monkeypatch, train, "--help") == 0
    told = capsys.readouterr().out
    assert told.startswith(
        "usage: train.py VARIANT SEED [BUILD]\n\nA command line that a function's signature describes.\n"
    )


def test_an_error_is_its_message_alone(monkeypatch: pytest.MonkeyPatch):
    assert ended(monkeypatch, fail, "out") == "error: out is full"
