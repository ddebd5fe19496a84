"""params.yaml as it was read: its values, the line of each, and faults told by line."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mtbert.errors import SettingsError

Place = tuple[str | int, ...]  # the keys that lead to a value


@dataclass(frozen=True)
class Fault:
    """Something wrong in params.yaml: where (a dotted path), and what."""

    place: Place
    message: str


class Params:
    """params.yaml as it was read, with the line of every value."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self.tree = YAML(typ="rt").load(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsError(f"{file} is missing; stage scripts run at the repository's root") from None
        except (YAMLError, UnicodeDecodeError) as error:
            raise SettingsError(f"{file} is not readable YAML: {error}") from None
        if not isinstance(self.tree, dict):
            raise SettingsError(f"{file} has to hold sections, but holds {type(self.tree).__name__}")
        self.values: dict[str, Any] = _plain(self.tree)

    def get(self, *place: str | int) -> Any:
        """The value at a place, or None."""
        return at(self.values, place)

    def line(self, place: Iterable[str | int]) -> int:
        """The line of a place, or of as much of it as is there; counted from 1."""
        node: Any = self.tree
        line = 1
        for key in place:
            try:
                places: Any = node.lc  # ruamel's, on every mapping and list, though its types do not tell
                line = (places.key(key) if isinstance(node, dict) else places.item(key))[0] + 1
                node = node[key]
            except (KeyError, IndexError, TypeError, AttributeError):
                break
        return line

    def told(self, faults: Iterable[Fault]) -> str:
        """All faults in one message, by line."""
        lines = sorted({(self.line(f.place), ".".join(map(str, f.place)), f.message) for f in faults})
        shown = "\n".join(f"  {self.file}:{line}: {place}: {message}" for line, place, message in lines)
        return f"{len(lines)} fault{'s' if len(lines) > 1 else ''} in the settings; nothing was trained\n{shown}"


def _plain(node: Any) -> Any:
    """ruamel's nodes, which remember their lines, as plain values."""
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    for kind in (bool, int, float, str):  # bool first: it is an int too
        if isinstance(node, kind):
            return kind(node)
    return node


def at(node: Any, place: Iterable[str | int]) -> Any:
    """The value that these keys lead to, or None."""
    for key in place:
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list) and isinstance(key, int) and key < len(node):
            node = node[key]
        else:
            return None
    return node
