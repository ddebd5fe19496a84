"""What may differ between two makings of a model: a setting, a file of data or of weights, code, the machine."""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class InputKind(StrEnum):
    """What an input is of a training."""

    SETTING = "setting"
    TEACHER = "teacher"
    DATA = "data"
    WEIGHTS = "starting weights"
    CODE = "code"
    MACHINE = "machine"


class Cause(NamedTuple):
    """An input that has changed.

    Attributes:
        before, now: its value, or a file's digest; None if there was none, or is none.
    """

    kind: InputKind
    name: str
    before: str | None
    now: str | None


def in_words(cause: Cause) -> str:
    """Return a cause such as `pals.dim 204 -> 276` or `code training/loop.py changed`."""
    if cause.kind in (InputKind.SETTING, InputKind.MACHINE):
        return f"{cause.name} {cause.before or 'not set'} -> {cause.now or 'not set'}"
    change = "changed"
    if cause.before is None:
        change = "added"
    elif cause.now is None:
        change = "removed"
    name = cause.name.removeprefix("data/") if cause.kind == InputKind.DATA else cause.name
    if cause.kind == InputKind.TEACHER:
        name = Path(name).stem
    return f"{cause.kind} {name} {change}"
