"""Errors for people: what is wrong, where it is set, what came, what is allowed."""

import difflib
import reprlib
from collections.abc import Iterable, Sequence

import pydantic

LONGEST_SHOWN = 200  # most characters of a value in a message
OF_PYDANTIC = ("function-", "literal[", "list[", "[")  # its own names among the keys: of unions and validators


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
    found = []
    for detail in error.errors():
        keys = tuple(key for key in detail["loc"] if not str(key).startswith(OF_PYDANTIC))
        told, value = detail["msg"].removeprefix("Value error, "), detail["input"]
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, UnknownNameError):  # which says what came
            keys += (str(cause.name),) if cause.kind == "key" else ()
        elif not isinstance(value, dict):
            came = (reprlib.repr if isinstance(value, list) else repr)(value)  # nested lists can be endless
            told += f", got {came[:LONGEST_SHOWN]}{'…' * (len(came) > LONGEST_SHOWN)}"
        found.append((keys, told))
    return found


def in_words(error: pydantic.ValidationError) -> str:
    """Return all faults that pydantic found, in one line."""
    return "; ".join(f"{'.'.join(map(str, keys))}: {message}" if keys else message for keys, message in faults(error))
