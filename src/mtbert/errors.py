"""Errors for people: what is wrong, where it is set, what came, what is allowed."""

import difflib
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

import pydantic

LONGEST_SHOWN = 200  # most characters of a value in a message


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


class UnknownNameError(SettingsError, ValueError):  # pydantic takes a ValueError for a fault of the value
    """An unknown name; the message has the known name with the most similar spelling, if there is one."""

    def __init__(self, kind: str, name: object, known: Iterable[object]) -> None:
        known = [str(one) for one in known]  # which settings may have made of anything
        self.kind, self.name = kind, name
        hint = "".join(f"did you mean {meant}? " for meant in difflib.get_close_matches(str(name), known, 1))
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
    told, value = detail["msg"].removeprefix("Value error, "), detail["input"]
    if isinstance(value, dict) or isinstance(detail.get("ctx", {}).get("error"), UnknownNameError):  # says what came
        return told
    came = (reprlib.repr if isinstance(value, list) else repr)(value)  # the whole of nested lists can be endless
    return f"{told}, came {came[:LONGEST_SHOWN]}{'…' * (len(came) > LONGEST_SHOWN)}"
