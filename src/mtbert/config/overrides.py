"""Find the values of params.yaml that depart from what would hold without them, and the variants that each changes.

Without a value in a section at the top the profile's holds, the preset's, or the typed default; without one in
`catalog` the paper's. Variants of one's own depart from nothing.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from mtbert.config import resolve
from mtbert.config.params import Params, Place, at, layers
from mtbert.config.sections import WRITTEN
from mtbert.config.techniques import SECTIONS
from mtbert.settings import LENGTHS

Variants = dict[str, dict[str, Any]]  # resolved, by name


class Override(NamedTuple):
    """A value, its place, and the selected variants that it changes, else the files of encoder and pretrainings."""

    place: Place
    value: Any
    changes: list[str]


def find(params: Params, selected: Variants) -> Iterator[Override]:
    """Yield the overrides in the order of params.yaml, each with its effect on the selected variants."""
    below = list(dict.fromkeys(tuple(layers(params, name)[:2]) for name in selected))
    for section in (section for section in params.own if section in SECTIONS):
        for place, value in leaves((section,), params.own[section]):
            differs = any(_lower(params, pair, place) != value for pair in below)
            if differs or place[-1] in LENGTHS:  # which take effect through others that they replace
                changes = _changes(params, selected, place)
                if differs or changes:
                    yield Override(place, value, changes)
    for name, entry in (params.own.get("catalog") or {}).items():
        if name in params.of_papers["catalog"]:
            for place, value in leaves(("catalog", name), entry):
                yield Override(place, value, _changes(params, selected, place))


def leaves(place: Place, node: Any) -> Iterator[tuple[Place, Any]]:
    """Yield each value below a place that is no mapping and not null."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves((*place, key), value)
    elif node is not None:
        yield place, node


def _lower(params: Params, pair: tuple[Place, ...], place: Place) -> Any:
    """Return what the profile says, else the preset, else the typed default."""
    stated = (params.get(*layer, *place) for layer in reversed(pair))
    return next((value for value in stated if value is not None), default_of(place))


def default_of(place: Place) -> Any:
    """Return the typed default at a place of a section."""
    depth = 2 if place[0] == "pretrain" else 1
    extra: Any = WRITTEN[place[:depth]].model_fields[str(place[depth])].json_schema_extra
    return at(extra["default"], place[depth + 1 :])


def _changes(params: Params, selected: Variants, place: Place) -> list[str]:
    """Resolve without a value; return the selected variants, else the shared files, that are others with it."""
    other, now = params.put(place, None), resolve.shared(params, selected)
    try:
        before = resolve.shared(other, selected)
    except ValidationError:  # of two values that go together, such as encoder.name and its revision
        before = {}
    files = {name for name in now if now[name] != before.get(name)}
    variants = [
        name
        for name, document in selected.items()
        if files & {"encoder", f"pretrain-{document['model']['encoder']}"}
        or resolve.variant(other, name)[0] != document
    ]
    return variants or sorted(files)
