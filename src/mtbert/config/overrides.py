"""Find the overrides: values of params.yaml that depart from what would hold without them.

A value in a section at the top departs from the profile's, else the preset's, else the typed default. A value in
`catalog` departs from the paper's. Variants of one's own depart from nothing.
"""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from mtbert.config import resolve
from mtbert.config.params import Params, Place, at, dotted, leaves
from mtbert.config.places import merge, places_of
from mtbert.config.sections import SETTINGS
from mtbert.config.techniques import SECTIONS
from mtbert.pretrained.settings import SBERT

CLOSE = 0.8  # how much alike two names are (difflib's ratio) of which one may be meant as the other


class Override(NamedTuple):
    """A value that departs.

    Attributes:
        place: where it is set.
        files: the files of the plan that it changes, by name: those of selected variants, `encoder` and `pretrain`.
    """

    place: Place
    value: Any
    files: list[str]


def find(params: Params, selected: dict[str, Any]) -> Iterator[Override]:
    """Yield the overrides in the order of params.yaml, each with its effect on the selected variants.

    `selected` are the resolved ones, by name.
    """
    for section, values in params.own.items():
        if section in SECTIONS:
            yield from _in_section(params, selected, section, values)
    for name, entry in (params.own.get("catalog") or {}).items():
        if name in params.of_papers["catalog"] or name in params.template_of:
            for place, value in leaves(("catalog", name), entry):
                yield Override(place, value, _changed_files(params, selected, place))


def of_profile(params: Params, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the presets of these variants whose value of a key gives way to another one of the profile, by the key."""
    presets_by_key: dict[str, list[str]] = {}
    for preset in dict.fromkeys(str(places_of(params, name)[0][1]) for name in names):
        for place, value in leaves((), params.get("presets", preset) or {}):
            stronger = params.get("profiles", str(params.get("profile")), *place)
            if stronger is not None and stronger != value:
                presets_by_key.setdefault(dotted(place), []).append(preset)
    return presets_by_key


def near_names(params: Params) -> Iterator[tuple[Place, str]]:
    """Yield the place of each entry that nothing selects and whose name is nearly another's, with that name.

    Such a variant, profile or tuned rate changes nothing of the one whose name was misspelt.
    """
    variants = {*params.of_papers["catalog"], *params.template_of}
    profile = str(params.get("profile"))
    names_by_key = {"catalog": variants, "tuned": {*params.get("catalog")}, "profiles": {profile}}
    for key, names in names_by_key.items():
        for name in params.own.get(key) or {}:
            close = difflib.get_close_matches(name, names, 1, CLOSE)
            if close and name not in {*names, *params.get("variants")}:
                yield (key, name), close[0]


def _in_section(params: Params, selected: dict[str, Any], section: str, values: Any) -> Iterator[Override]:
    """Yield the overrides in a section at the top of params.yaml."""
    pairs = dict.fromkeys(tuple(places_of(params, name)[:2]) for name in selected)  # preset and profile
    weaker = [merge(params, pair).values for pair in pairs]
    for place, value in leaves((section,), values):
        if any(_value(sections, place) != value for sections in weaker):
            yield Override(place, value, _changed_files(params, selected, place))


def _value(sections: dict[str, Any], place: Place) -> Any:
    """Return the value at a place in merged sections, else the typed default."""
    value = at(sections, place)
    return _default_of(place) if value is None else value


def _default_of(place: Place) -> Any:
    """Return the typed default at a place of a section."""
    depth = 2 if place[0] == "pretrain" else 1
    key = SETTINGS[place[:depth]].model_fields[str(place[depth])]
    return at(key.get_default(call_default_factory=True), place[depth + 1 :])


def _changed_files(params: Params, selected: dict[str, Any], place: Place) -> list[str]:
    """Return the files of the plan that would differ without a value.

    They are resolved anew. Which place sets a value does not tell: a weaker one may set the same one, and a variant
    may not read it, such as the rate of a kind of training that it has not.
    """
    without = params.put(place, None)
    shared = resolve.shared(params, selected)
    try:
        shared_without = resolve.shared(without, selected)
    except ValidationError:  # of two values that go together, such as encoder.name and its revision
        shared_without = {}
    changed = [name for name in shared if shared[name] != shared_without.get(name)]
    starting_weights = {*changed}
    for name, document in selected.items():
        starts = {"encoder", "pretrain"} if document["model"]["encoder"] == SBERT else {"encoder"}
        if starting_weights & starts or resolve.variant(without, name)[0] != document:
            changed.append(name)
    return changed
