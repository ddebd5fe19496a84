"""Find values of params.yaml that differ from the shipped file, of which shipped.yaml is a copy."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtbert.plan.layers import COLLECTIONS, KNOBS, SEARCH, layers, origin
from mtbert.plan.params import MISSING, Params, Place, dotted

SHIPPED = Path(__file__).with_name("shipped.yaml")
# What Hydra's grammar, that of `dvc exp run -S`, accepts as text without quotation marks, and as part of a dotted key.
PLAIN = re.compile(r"(?!(?:null|true|false|inf|nan)$)[a-z_][a-z0-9_-]*", re.IGNORECASE)
NUMBERED = re.compile(r"0|[1-9][0-9]*")


@dataclass(frozen=True)
class Departure:
    """A value that differs from the shipped one; MISSING stands for no value."""

    place: Place
    value: Any
    shipped: Any

    @property
    def key(self) -> str:
        """The place in dotted form: pals.dim."""
        return dotted(self.place)

    @property
    def override(self) -> str:
        """The argument of `dvc exp run -S` that sets it: pals.dim=276, +catalog.mine={...}, ~catalog.pals."""
        sign = "~" if self.value is MISSING else "+" if self.shipped is MISSING else ""
        place, value = self.place, self.value
        while len(place) > 1 and not all(_fits(str(key)) for key in place[1:]) and value is not MISSING:
            place, value, sign = place[:-1], {place[-1]: value}, "+"  # merges a mapping into the existing one
        return f"{sign}{'.'.join(map(str, place))}" + ("" if value is MISSING else f"={_written(value)}")


@functools.cache
def shipped() -> Params:
    """Return the shipped params.yaml."""
    return Params(SHIPPED)


def departures(params: Params) -> list[Departure]:
    """Return departures in the order of params.yaml, removed values last; leaves out knobs and the search."""
    aside = (*KNOBS, SEARCH)
    return [one for one in _between((), params.values, shipped().values) if one.place[0] not in aside]


def blamed(params: Params, places: Sequence[Place], variant: str | None = None) -> Place:
    """Return where to look for a fault of these places together: at a departure, else where the first was set."""
    departing = [departure.place for departure in departures(params) if departure.value is not MISSING]
    for layer in reversed(layers(params, variant)):
        for place in places:
            full: Place = (*layer, *place)
            below = [other for other in departing if other[: len(full)] == full]
            above = [other for other in departing if full[: len(other)] == other]
            if below or (above and params.get(*full) is not None):
                return below[0] if below else full
    return origin(params, places[0], variant) or places[0]


def _between(place: Place, ours: Any, theirs: Any) -> Iterator[Departure]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            yield from _between((*place, key), ours.get(key, MISSING), theirs.get(key, MISSING))
    elif not (_same(ours, theirs) or (_unset(ours) and _unset(theirs) and not _entry(place))):
        yield Departure(place, ours, theirs)


def _same(ours: Any, theirs: Any) -> bool:
    """Compare values; 1 equals 1.0, but not true."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    return ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


def _unset(value: Any) -> bool:
    return value is None or value is MISSING


def _entry(place: Place) -> bool:
    """Return whether it is the place of a preset, profile, variant or ensemble, which may be empty."""
    return len(place) == 2 and place[0] in COLLECTIONS


def _fits(key: str) -> bool:
    return bool(PLAIN.fullmatch(key) or NUMBERED.fullmatch(key))


def _written(value: Any) -> str:
    """Return a value in Hydra's grammar."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, str):
        return value if PLAIN.fullmatch(value) else _quoted(value)
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)


def _quoted(text: str) -> str:
    """Quote text: double backslashes before a quotation mark, and escape ${, which Hydra would look up."""
    escaped = re.sub(r"(\\*)(\$\{|'|$)", lambda match: _escaped(*match.groups()), text)
    return f"'{escaped}'"


def _escaped(backslashes: str, special: str) -> str:
    return 2 * backslashes + ("\\" + special if special else "")
