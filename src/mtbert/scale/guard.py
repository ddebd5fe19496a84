"""Refuse settings files that are unsafe or slow to read, before they are read.

Tags can create Python objects, and a few nested aliases can stand for billions of values.
"""

from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent

from mtbert.errors import SettingsError

LARGEST = 2**17  # bytes of a file, some four times the project's own
MOST = 10_000  # values, with those that aliases stand for
DEEPEST = 30  # levels


def read(file: Path) -> str:
    """Read the file's text; SettingsError where it is too large, or holds more than values."""
    text = _text(file)
    _look_through(text, file)
    return text


def _text(file: Path) -> str:
    with file.open("rb") as handle:
        content = handle.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise SettingsError(f"{file} has more than {LARGEST:,} bytes, which is too large for a settings file")
    return content.decode("utf-8")


def _look_through(text: str, file: Path) -> None:
    """Raise SettingsError for tags, and for more levels or values than settings have, aliases followed."""
    count = 0
    begun: list[tuple[str | None, int]] = []  # for each open mapping or list, its anchor and the values before it
    below: dict[str | None, int] = {}  # values that each anchor's aliases stand for
    for event in YAML(typ="rt").parse(text):
        if isinstance(event, CollectionEndEvent):
            anchor, before = begun.pop()
            below[anchor] = count - before
            continue
        if not isinstance(event, NodeEvent):
            continue
        line = f"{file}:{event.start_mark.line + 1}"
        if isinstance(event, AliasEvent):
            if any(anchor == event.anchor for anchor, _ in begun):
                raise SettingsError(f"{line}: *{event.anchor} is inside the value that it stands for")
            count += below.get(event.anchor, 0)
        elif event.anchor and event.anchor in below:
            raise SettingsError(f"{line}: anchor &{event.anchor} is set twice")
        elif tag := getattr(event, "tag", None):
            raise SettingsError(f"{line}: tag {tag}; allowed: values without tags")
        elif isinstance(event, CollectionStartEvent):
            begun.append((event.anchor, count))
        else:
            below[event.anchor] = 1
        count += 1
        if len(begun) > DEEPEST:
            raise SettingsError(f"{line}: more than {DEEPEST} levels, which no settings have")
        if count > MOST:
            raise SettingsError(f"{line}: more than {MOST:,} values with those of aliases, which no settings have")
