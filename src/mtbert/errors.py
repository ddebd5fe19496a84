"""Errors for people: what is wrong, where it is set, what came, what is allowed."""

import contextlib
import difflib
import os
import reprlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pydantic

from mtbert import credentials

LONGEST_SHOWN = 200  # most characters of a value in a message
SHOW_TRACEBACKS = "MTBERT_TRACEBACK"


class MtbertError(Exception):
    """Base of every error whose message is written for the person at the terminal."""


class SettingsError(MtbertError):
    """A fault in params.yaml or in a plan file."""


class DataError(MtbertError):
    """A fault in a corpus file or in a file made from it."""


class EncoderError(MtbertError):
    """Starting weights that cannot be fetched, or are not the expected ones."""


class TrainingError(MtbertError):
    """A training that cannot continue, such as for a loss that is not finite."""


class UnknownNameError(ValueError):
    """An unknown name; `meant` is the known name with the most similar spelling, if there is one."""

    def __init__(self, kind: str, name: object, known: Iterable[object]) -> None:
        known = [str(one) for one in known]  # which settings may have made of anything
        self.kind, self.name = kind, name
        self.meant = next(iter(difflib.get_close_matches(str(name), known, 1)), None)
        hint = f"did you mean {self.meant}? " if self.meant else ""
        super().__init__(f"unknown {kind} {name!r}; {hint}known: {', '.join(known)}")


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names in a line, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def faults(error: pydantic.ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """Return each fault that pydantic found: the keys that lead to it, and a message for people."""
    return [(_keys(detail["loc"]) + _unknown_key(detail), _message(detail)) for detail in error.errors()]


def in_words(error: pydantic.ValidationError) -> str:
    """Return all faults that pydantic found, in one line."""
    return "; ".join(f"{'.'.join(map(str, keys))}: {message}" if keys else message for keys, message in faults(error))


def _keys(place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Remove pydantic's own names for members of a union and for validators."""
    return tuple(key for key in place if not str(key).startswith(("function-", "literal[", "list[", "[key]")))


def _unknown_key(detail: Any) -> tuple[str, ...]:
    """Return the key that a section does not know, which pydantic's place ends before."""
    error = detail.get("ctx", {}).get("error")
    return (str(error.name),) if isinstance(error, UnknownNameError) and error.kind == "key" else ()


def _message(detail: Any) -> str:
    if detail["type"] == "extra_forbidden":
        return "unknown key"
    if isinstance(detail.get("ctx", {}).get("error"), UnknownNameError):  # its message says what came
        return detail["msg"].removeprefix("Value error, ")
    if isinstance(detail["input"], dict):
        came = ""
    else:  # the whole of nested lists can be endless
        came = f", came {(reprlib.repr if isinstance(detail['input'], list) else repr)(detail['input'])}"
    came = came if len(came) <= LONGEST_SHOWN else came[:LONGEST_SHOWN] + "…"
    return f"{detail['msg'].removeprefix('Value error, ')}{came}"


@contextlib.contextmanager
def shown_plainly() -> Iterator[None]:
    """End a script with the message alone, without a traceback, for errors of our own and of the operating system.

    The exit status is 1 for an error and 130 for Ctrl-C. Credentials in the message are masked. Set MTBERT_TRACEBACK=1
    to see the traceback as well.
    """
    try:
        yield
    except BrokenPipeError:  # whoever read the output has enough
        _forget_output()
        sys.exit(1)
    except (MtbertError, OSError) as error:
        if os.environ.get(SHOW_TRACEBACKS):
            raise
        _forget_output()
        sys.exit(f"error: {credentials.masked(_in_a_line(error))}")
    except KeyboardInterrupt:
        print("stopped; no half-written output was left behind", file=sys.stderr)
        sys.exit(130)


def _in_a_line(error: MtbertError | OSError) -> str:
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _forget_output() -> None:
    """Keep Python from writing again, as it ends, what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
