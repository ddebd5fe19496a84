"""Find the values of params.yaml that depart from what would hold without them, and what each changes.

That is the profile, the preset, or the typed default; of `catalog` and `ensembles`, which are empty as shipped, every
value departs.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from mtbert.config import resolve
from mtbert.config.params import MISSING, Fault, Params, Place, at, dotted, layers
from mtbert.config.sections import WRITTEN
from mtbert.config.techniques import SECTIONS
from mtbert.settings import LENGTHS

LONGEST_SHOWN = 80  # characters of a value in a message
REPLACING = (*LENGTHS, "learning_rate")  # keys that take effect through others that they replace
Variants = dict[str, dict[str, Any]]  # resolved, by name


class Override(NamedTuple):
    """A value of params.yaml, and what it changes.

    Attributes:
        place, value: where it stands, and what it is.
        without: what holds in its place where it is not set; MISSING where it is a key of one's own.
        changes: the selected variants that it changes, else the files of encoder and pretrainings.
    """

    place: Place
    value: Any
    without: Any
    changes: list[str]


def find(params: Params, selected: Variants) -> Iterator[Override]:
    """Yield the overrides in the order of params.yaml, each with its effect on the selected variants."""
    below = list(dict.fromkeys(tuple(layers(params, name)[:2]) for name in selected))
    for section in (section for section in params.own if section in SECTIONS):
        for place, value in _leaves((section,), params.own[section]):
            lower = [_lower(params, pair, place) for pair in below]
            differs = any(one != value for one in lower)
            if differs or place[-1] in REPLACING:
                found = Override(place, value, lower[0], _changes(params, selected, place))
                if differs or found.changes:
                    yield found
    for collection in ("catalog", "ensembles"):
        theirs = params.of_papers[collection]
        for name, entry in (params.own.get(collection) or {}).items():
            for place, value in _leaves((name,), entry) if name in theirs else [((name,), entry)]:
                whole = (collection, *place)
                yield Override(whole, value, at(theirs, place, MISSING), _changes(params, selected, whole))


def _leaves(place: Place, node: Any) -> Iterator[tuple[Place, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves((*place, key), value)
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
    other, now = params.put(place, MISSING), resolve.shared(params, selected)
    try:
        before = resolve.shared(other, selected)
    except ValidationError:  # of two values that go together, such as encoder.name and its revision
        before = dict.fromkeys(now)
    files = [name for name in now if now[name] != before[name]]
    variants = []
    for name, document in selected.items():
        starts_anew = {"encoder", f"pretrain-{document['model']['encoder']}"} & {*files}
        concerned = place[0] in SECTIONS or place[:2] == ("catalog", name)
        if starts_anew or (concerned and _resolved(other, name) != document):
            variants.append(name)
    return variants or files


def _resolved(params: Params, name: str) -> dict[str, Any] | None:
    """Resolve a variant; None where it does not exist, or has faults."""
    document, faults = resolve.variant(params, name) if name in params.get("catalog") else ({}, [None])
    return None if faults else document


def describe(params: Params, one: Override) -> str:
    """Return one line: the value, and what it changes."""
    without = "" if one.without is MISSING else f" (without: {_shown(one.without)})"
    file, line, key = params.find(one.place)
    return f"  {file}:{line}: {key} = {_shown(one.value)}{without}: changes {', '.join(one.changes) or 'none'}"


def lost(params: Params, one: Override) -> Fault:
    """Return the fault of a value that was set and has no effect."""
    places: list[Place] = [("catalog", name, *one.place) for name in params.get("variants")]
    own = ", ".join(dotted(place) for place in places if params.get(*place) is not None)
    told = f"{_shown(one.value)} changes none of the selected variants, {', '.join(params.get('variants'))}"
    return Fault(one.place, f"{told}{own and f', which have {own}'}; allowed: null, or a selection that it changes")


def _shown(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
