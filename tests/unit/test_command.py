"""A stage's command line, which a function's signature describes."""

import sys
from pathlib import Path

import pytest

from mtbert import command
from mtbert.errors import DataError

CAME: list[object] = []


def train(variant: str, seed: int, build: Path = Path("build")) -> None:
    CAME[:] = [variant, seed, build]


def fail(out: Path) -> None:
    if out.name == "full":
        raise DataError(f"{out} is full")
    out.read_text()


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
    assert ended(monkeypatch, train, *arguments) == 0
    assert came == CAME


@pytest.mark.parametrize("arguments", [[], ["pals"], ["pals", "one"], ["pals", "-1"], ["pals", "1", "build", "more"]])
def test_wrong_usage_ends_with_status_2(monkeypatch: pytest.MonkeyPatch, arguments: list[str]):
    assert ended(monkeypatch, train, *arguments) == 2


@pytest.mark.parametrize(
    ("out", "told"), [("full", "error: full is full"), ("none", "error: none: No such file or directory")]
)
def test_an_error_is_its_message_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, out: str, told: str):
    monkeypatch.chdir(tmp_path)
    assert ended(monkeypatch, fail, out) == told
