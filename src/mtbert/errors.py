"""Errors for people: what is wrong, where it is set, what came, what is allowed."""

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pydantic

from mtbert import credentials

LONGEST_SHOWN = 200  # characters of a value in a message
SHOW_TRACEBACKS = "MTBERT_TRACEBACK"


class MtbertError(Exception):
    """Base of every error whose message is written for the person at the terminal."""


class SettingsError(MtbertError):
    """A fault in params.yaml or in a plan file."""


class DataError(MtbertError):
    """A fault in a corpus file or in what was made of it."""


class EncoderError(MtbertError):
    """Starting weights that cannot be had, or are not what they should be."""


class TrainingError(MtbertError):
    """A training that cannot go on, such as a loss that is not finite."""


class UnknownNameError(ValueError):
    """A name that is not among those known; `meant` is the one that is spelled most like it, if any is."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        known = list(known)
        self.meant = next(iter(difflib.get_close_matches(str(name), known, 1)), None)
        hint = f"did you mean {self.meant}? " if self.meant else ""
        super().__init__(f"unknown {kind} {name!r}; {hint}known: {', '.join(known)}")


def faults(error: pydantic.ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """Each fault that pydantic found: the keys that lead to it, and what is wrong, as a person would say it."""
    return [(_keys(detail["loc"]), _said(detail)) for detail in error.errors()]


def in_words(error: pydantic.ValidationError) -> str:
    """All faults that pydantic found, in one line."""
    return "; ".join(f"{'.'.join(map(str, keys))}: {said}" if keys else said for keys, said in faults(error))


def _keys(place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Without pydantic's own names for the members of a union and for validators."""
    return tuple(key for key in place if not str(key).startswith(("function-", "literal[", "list[", "[key]")))


def _said(detail: Any) -> str:
    if detail["type"] == "extra_forbidden":
        return "unknown key"
    if isinstance(detail.get("ctx", {}).get("error"), UnknownNameError):  # it says what came
        return detail["msg"].removeprefix("Value error, ")
    came = "" if isinstance(detail["input"], dict) else f", came {detail['input']!r}"
    came = came if len(came) <= LONGEST_SHOWN else came[:LONGEST_SHOWN] + "…"
    return f"{detail['msg'].removeprefix('Value error, ')}{came}"


@contextlib.contextmanager
def shown_plainly() -> Iterator[None]:
    """End a stage script with the message alone, without a traceback, where the error is one of ours.

    Exit status 1 for a fault, 130 for Ctrl-C. Credentials in the message are masked. Set MTBERT_TRACEBACK=1 to see the
    traceback as well.
    """
    try:
        yield
    except MtbertError as error:
        if os.environ.get(SHOW_TRACEBACKS):
            raise
        sys.exit(f"error: {credentials.masked(str(error))}")
    except KeyboardInterrupt:
        print("stopped: no half-written output was left behind", file=sys.stderr)
        sys.exit(130)
