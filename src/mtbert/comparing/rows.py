"""Rows of a prediction file; values stay text until it is known how they are compared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mtbert.errors import DataError, first_of

SHOWN = 5  # most rows in a message


class Row(NamedTuple):
    """One prediction; values that the file lacks are empty.

    Attributes:
        place: its place in the file, such as `line 3`.
        id, label, prediction, seed, cluster: as text.
        scored: whether it counts.
        texts: its sentences.
    """

    place: str
    id: str
    label: str
    prediction: str
    seed: str = ""
    cluster: str = ""
    scored: bool = True
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rows:
    """The rows of one side.

    Attributes:
        name: the side's name, as the user gave it.
        rows: its rows, at least one.
        of_scores: whether predictions are scores of the rows, such as 1 for a right answer.
    """

    name: str
    rows: list[Row]
    of_scores: bool = False


def text(value: Any) -> str:
    """Return a value as text, the same from every kind of file: null and NaN are empty, 1.0 is 1."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()


def refuse(name: str, what: str, shown: Sequence[str], remedy: str) -> None:
    """Raise a DataError that names the first of the faulty rows `shown`, if there are any."""
    if shown:
        raise DataError(f"{name}: {what}: {first_of(shown, SHOWN)}; {remedy}")
