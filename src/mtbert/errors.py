"""Errors for people: what is wrong, where it is set, what came, what is allowed; credentials are masked."""

import difflib
import os
import re
import reprlib
from collections.abc import Iterable, Sequence

import pydantic

LONGEST_SHOWN = 200  # most characters of a value in a message
LONGEST_CELL = 60  # of a value of a data file
LONGEST_ERROR = 300  # of a library's error
PYDANTIC_KEYS = ("function-", "literal[", "list[", "[")  # how keys begin that pydantic adds for unions and validators

OR_INSTANCE = re.compile(" or instance of [A-Za-z_]+$")  # what pydantic adds for a class, which no file can hold
# A user and password in an address. One slash where it has gone through a Path. Up to the last @, since a password may
# hold any character.
CREDENTIALS = re.compile(r"(\w:/{1,2})(?!/)\S+@")
# How the names of variables end whose values are secrets.
SECRET = re.compile(r"(PASSWORD|TOKEN|SECRET|ACCESS_KEY|ACCESS_KEY_ID|API_KEY|CONNECTION_STRING)$")
SHORTEST = 4  # characters of a secret; a shorter value would match within ordinary words


class MtbertError(Exception):
    """Base of every error whose message is written for the person at the terminal."""


class SettingsError(MtbertError):
    """A fault in params.yaml or in a plan file."""


class DataError(MtbertError):
    """A fault in a corpus file or in a file made from it."""


class EncoderError(MtbertError):
    """Starting weights that cannot be fetched, or are not the expected ones."""


class TrainingError(MtbertError):
    """A training that cannot continue."""


class DivergedError(TrainingError):
    """A training whose loss or gradient is not finite."""


class UnknownNameError(SettingsError, ValueError):  # pydantic takes a ValueError for a fault of the value
    """An unknown name; the message suggests the allowed name whose spelling is closest, if one is close."""

    def __init__(self, kind: str, name: object, allowed: Iterable[object]) -> None:
        spelled = [str(value) for value in allowed]  # in settings a key may be of any type
        self.kind, self.name = kind, name
        closest = difflib.get_close_matches(str(name), spelled, 1)
        hint = f"did you mean {closest[0]}? " if closest else ""
        super().__init__(f"unknown {kind} {name!r}; {hint}known: {', '.join(spelled)}")


class RefusedSettingsError(SettingsError, ValueError):  # as above
    """Settings that a technique refuses."""


def shorten(cell: object) -> str:
    """Return a value of a data file for a message, shortened; `missing` for None."""
    text = "missing" if cell is None else repr(cell)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def one_line(error: Exception) -> str:
    """Return a library's error in one line that is not too long; its type where it says nothing."""
    return " ".join(str(error).split())[:LONGEST_ERROR] or type(error).__name__


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first `most` names in a line, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def faults(error: pydantic.ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """Return each fault that pydantic found: the keys that lead to it, and a message for people."""
    listed = []
    for detail in error.errors():
        keys = tuple(key for key in detail["loc"] if not str(key).startswith(PYDANTIC_KEYS))
        message = OR_INSTANCE.sub("", detail["msg"].removeprefix("Value error, "))
        cause = detail.get("ctx", {}).get("error")
        if not isinstance(cause, UnknownNameError):
            message += _got(detail["input"])
        elif cause.kind == "key":
            keys = (*keys, str(cause.name))
        listed.append((keys, message))
    return listed


def _got(value: object) -> str:
    """Return `, got VALUE` for a message, shortened; nothing for a mapping."""
    if isinstance(value, dict):
        return ""
    text = reprlib.repr(value) if isinstance(value, list) else repr(value)  # nested lists can be endless
    if len(text) > LONGEST_SHOWN:
        text = f"{text[:LONGEST_SHOWN]}…"
    return f", got {text}"


def masked(text: str) -> str:
    """Replace with *** the user and password of any address, and the value of every variable with a secret's name.

    Such names are MLFLOW_TRACKING_PASSWORD, HF_TOKEN and AWS_SECRET_ACCESS_KEY.
    """
    secrets = {value for name, value in os.environ.items() if SECRET.search(name) and len(value) >= SHORTEST}
    for secret in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
        text = text.replace(secret, "***")
    return CREDENTIALS.sub(r"\1***@", text)


def in_words(error: pydantic.ValidationError) -> str:
    """Return all faults that pydantic found, in one line."""
    return "; ".join(f"{'.'.join(map(str, keys))}: {message}" if keys else message for keys, message in faults(error))
