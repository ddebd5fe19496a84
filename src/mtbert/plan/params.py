"""params.yaml as it was read: its values, the line of each, and messages that name lines."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarbool import ScalarBoolean

from mtbert.errors import SettingsError
from mtbert.plan import guard

LONGEST_SHOWN = 60  # characters of a key in a message
Place = tuple[str | int, ...]  # the keys that lead to a value
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "nothing"})()  # where there is no value, not even null


@dataclass(frozen=True)
class Fault:
    """Something wrong in params.yaml.

    Attributes:
        place: the keys that lead to it.
        message: what is wrong, and what is allowed.
        meant: the name that was probably meant.
        of_key: whether the key is wrong, not its value.
    """

    place: Place
    message: str
    meant: str | None = None
    of_key: bool = False


class Params:
    """params.yaml as it was read, with the line of every value."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self.tree = YAML(typ="rt").load(guard.read(file))
        except FileNotFoundError:
            raise SettingsError(f"{file} is missing; stage scripts run at the repository's root") from None
        except (YAMLError, ValueError, OSError) as error:  # ValueError: not UTF-8, or a number of thousands of digits
            raise SettingsError(f"{file} is not readable YAML: {error}") from None
        if not isinstance(self.tree, dict):
            raise SettingsError(f"{file} has to hold sections, but holds {type(self.tree).__name__}")
        self.values: dict[str, Any] = _plain(self.tree)

    def get(self, *place: str | int, missing: Any = None) -> Any:
        """Return the value at a place, or `missing`."""
        return at(self.values, place, missing)

    def put(self, place: Place, value: Any) -> "Params":
        """Return a copy with another value at a place; creates mappings on the way. MISSING removes the value."""
        other = copy.copy(self)
        other.values = _put(self.values, place, value)
        return other

    def line(self, place: Iterable[str | int]) -> int:
        """Return the line of a place, or of the part of it that exists; counted from 1."""
        node: Any = self.tree
        line = 1
        for key in place:
            try:
                places: Any = node.lc  # ruamel sets it on every mapping and list, but does not type it
                line = (places.key(key) if isinstance(node, dict) else places.item(key))[0] + 1
                node = node[key]
            except (KeyError, IndexError, TypeError, AttributeError):
                break
        return line

    def format_faults(self, faults: Iterable[Fault]) -> str:
        """Return all faults in one message, sorted by line; of several at one place only the first."""
        first = {fault.place: fault for fault in reversed([*faults])}
        lines = sorted((self.line(place), dotted(place), fault.message) for place, fault in first.items())
        shown = "\n".join(f"  {self.file}:{line}: {place}: {message}" for line, place, message in lines)
        return f"{len(lines)} fault{'s' if len(lines) > 1 else ''} in the settings; nothing was trained\n{shown}"


def _put(node: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    key, *below = place
    if isinstance(node, list):
        return [_put(item, tuple(below), value) if number == key else item for number, item in enumerate(node)]
    node = node if isinstance(node, dict) else {}
    if value is MISSING and key not in node:
        return node
    changed = _put(node.get(key), tuple(below), value)
    return {name: item for name, item in {**node, key: changed}.items() if item is not MISSING}


def _shown(key: str | int) -> str:
    text = str(key)
    text = text if text.isprintable() and text else repr(text)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _plain(node: Any) -> Any:
    """Convert ruamel's nodes, which have their lines, to plain values."""
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if isinstance(node, ScalarBoolean):  # a truth value with an anchor; it is an int, not a bool
        return bool(node)
    for kind in (bool, int, float, str):  # bool first: it is an int too
        if isinstance(node, kind):
            return kind(node)
    return node


def at(node: Any, place: Iterable[str | int], missing: Any = None) -> Any:
    """Return the value that these keys lead to, or `missing`."""
    for key in place:
        if isinstance(node, dict):
            node = node.get(key, missing)
        elif isinstance(node, list) and isinstance(key, int) and key < len(node):
            node = node[key]
        else:
            return missing
    return node


def dotted(place: Place) -> str:
    """Return a place in dotted form: pals.dim."""
    return ".".join(map(_shown, place))
