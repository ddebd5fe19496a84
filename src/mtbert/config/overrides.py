"""Find the values of params.yaml that depart from what would hold without them, and what each changes.

That is the profile, the preset, or the typed default; of `catalog` and `ensembles`, which are empty as shipped, every
value departs.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from mtbert.config import resolve
from mtbert.config.documents import shared
from mtbert.config.params import MISSING, Fault, Params, Place, at, dotted
from mtbert.config.precedence import SEARCH, SHARED, layers
from mtbert.config.sections import WRITTEN
from mtbert.config.techniques import NAMES, SECTIONS
from mtbert.settings import LENGTHS

LONGEST_SHOWN = 80  # characters of a value in a message
REPLACING = (*LENGTHS, "learning_rate")  # keys that take effect through others that they replace
Variants = dict[str, dict[str, Any]]  # resolved, by name


@dataclass(frozen=True)
class Override:
    """A value of params.yaml, and what it changes.

    Attributes:
        place, value: where it stands, and what it is.
        without: what holds in its place where it is not set; MISSING where it is a key of one's own.
        changes: the selected variants that it changes.
        documents: the files of encoder and pretrainings that it changes.
        others: for each of the other selected variants, why it does not change.
    """

    place: Place
    value: Any
    without: Any
    changes: list[str]
    documents: list[str]
    others: dict[str, str]

    @property
    def key(self) -> str:
        """The place in dotted form: pals.dim."""
        return dotted(self.place)

    @property
    def argument(self) -> str:
        """What `dvc exp run -S` takes to set it: pals.dim=276, ++catalog.mine={uses:[pals]}."""
        in_file = len(self.place) == 2 and self.place[0] in SECTIONS and self.place[0] not in SHARED
        return f"{'' if in_file else '++'}{self.key}={_in_hydra(self.value)}"

    @property
    def is_lost(self) -> bool:
        """Whether it was set for all variants and reaches none."""
        return self.place[0] in SECTIONS and not (self.changes or self.documents)


def find(params: Params, selected: Variants) -> list[Override]:
    """Return the overrides in the order of params.yaml, each with its effect on the selected variants."""
    now = shared(params, selected)
    found = [
        (_with_effect(params, selected, now, place, value, without), differs)
        for place, value, without, differs in _set(params, selected)
    ]
    return [one for one, differs in found if differs or one.changes]


def _set(params: Params, selected: Variants) -> Iterator[tuple[Place, Any, Any, bool]]:
    """Yield place, value, what holds without it, and whether that differs, of what may be an override."""
    below = list(dict.fromkeys(tuple(layers(params, name)[:2]) for name in selected))
    for section in (section for section in params.own if section in SECTIONS and section != SEARCH):
        for place, value in _leaves((section,), params.own[section]):
            lower = [_lower(params, pair, place) for pair in below]
            if (differs := not all(same(place, value, one) for one in lower)) or place[-1] in REPLACING:
                yield place, value, lower[0], differs
    for collection in ("catalog", "ensembles"):
        for name, entry in (params.own.get(collection) or {}).items():
            theirs = params.of_papers[collection]
            for place, value in _leaves((name,), entry) if name in theirs else [((name,), entry)]:
                yield (collection, *place), value, at(theirs, place, MISSING), True


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


def _section(place: Place) -> tuple[Place, Place]:
    """Return the place of a section, and that of a value within it."""
    depth = 2 if place[0] == "pretrain" else 1
    return place[:depth], place[depth:]


def default_of(place: Place) -> Any:
    """Return the typed default at a place of a section."""
    section, (key, *below) = _section(place)
    extra: Any = WRITTEN[section].model_fields[str(key)].json_schema_extra
    return at(extra["default"], below)


def same(place: Place, value: Any, other: Any) -> bool:
    """Compare two values of a place as their type reads them: 1 equals 1.0, but not true; `all` equals no number."""
    section, keys = _section(place)
    read = []
    for one in (value, other):
        written = one
        for key in reversed(keys):
            written = {key: written}
        read.append(None if one is None else at(WRITTEN[section].model_validate(written).model_dump(), keys))
    return read[0] == read[1] and isinstance(read[0], bool) == isinstance(read[1], bool)


def _with_effect(
    params: Params, selected: Variants, now: dict[str, Any], place: Place, value: Any, without: Any
) -> Override:
    """Resolve the selected variants without the value, and compare."""
    other = params.put(place, MISSING)
    before = now
    if place[0] in ("encoder", "pretrain", "run"):
        try:
            before = shared(other, selected)
        except ValidationError:  # of two values that go together, such as encoder.name and its revision
            before = dict.fromkeys(now)
    documents = [name for name in now if now[name] != before[name]]
    changes, others = [], {}
    for name, document in selected.items():
        starts_anew = "encoder" in documents or f"pretrain-{document['model']['encoder']}" in documents
        concerned = place[0] in SECTIONS or place[:2] == ("catalog", name)
        if starts_anew or (concerned and _resolved(other, name) != document):
            changes.append(name)
        else:
            others[name] = _why(params, name, document, place)
    return Override(place, value, without, changes, documents, others)


def _resolved(params: Params, name: str) -> dict[str, Any] | None:
    """Resolve a variant; None where it does not exist, or has faults."""
    if name not in params.get("catalog"):
        return None
    document, faults = resolve.variant(params, name)
    return None if faults else document


def _why(params: Params, name: str, document: dict[str, Any], place: Place) -> str:
    """Return why a value that was set for all variants does not change this one."""
    if place[0] in NAMES and place[0] not in _used(document):
        return f"does not use {place[0]}"
    own: Place = ("catalog", name, *place)
    return "is not concerned" if params.get(*own) is None else f"keeps {dotted(own)}"


def _used(node: Any) -> set[str]:
    """Return the techniques that a resolved variant names."""
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    own = {node["name"]} if isinstance(node, dict) and "name" in node else set()
    return own.union(*map(_used, inside))


def describe(params: Params, one: Override) -> str:
    """Return one line: the value, what it changes, and which variants keep theirs."""
    without = "" if one.without is MISSING else f" (without: {_shown(one.without)})"
    kept = f"; {_others(one)}" if one.place[0] in SECTIONS and one.others else ""
    file, line, key = params.find(one.place)
    changed = ", ".join(one.changes or one.documents) or "none"
    return f"  {file}:{line}: {key} = {_shown(one.value)}{without}: changes {changed}{kept}"


def lost(one: Override) -> Fault:
    """Return the fault of a value that was set and has no effect."""
    return Fault(
        one.place,
        f"{_shown(one.value)} changes none of the selected variants: {_others(one)}; allowed: null, or a selection in "
        "`variants` that it changes",
    )


def _others(one: Override) -> str:
    """List the unchanged variants by reason."""
    names: dict[str, list[str]] = {}
    for name, why in one.others.items():
        names.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(those)}: {why}" for why, those in names.items())


def _shown(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _in_hydra(value: Any) -> str:
    """Return a value in Hydra's grammar: JSON whose keys and plain words have no quotation marks."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r'(?<![\\\w])"(?!(?:null|true|false|inf|nan)")([A-Za-z_][\w-]*)"(?=[:,\]}]|$)', r"\1", text)
