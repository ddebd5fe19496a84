"""Rows of a prediction file, as they were written: values are text until it is known what is asked of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mtbert.errors import DataError

SHOWN = 5  # rows in a message


class Row(NamedTuple):
    """One prediction; what the file does not tell is empty.

    Attributes:
        place: where it stands, such as `line 3`.
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
    """What one side said.

    Attributes:
        name: of the side, as it was given.
        rows: at least one.
        of_scores: the predictions are scores of the rows already, such as 1 for a right answer.
    """

    name: str
    rows: list[Row]
    of_scores: bool = False


def text(value: Any) -> str:
    """A value as text, alike from every kind of file: null and NaN are empty, 1.0 is 1."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()


def refuse(name: str, what: str, shown: Sequence[str], remedy: str) -> None:
    """A DataError that names the first of what is wrong, where anything is."""
    if shown:
        more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
        raise DataError(f"{name}: {what}: {', '.join(shown[:SHOWN])}{more}; {remedy}")
