"""The places where a value can be set, and what they set together.

From weak to strong: the typed defaults, the paper's preset, the profile, the variant's tuned rates, the section at the
top of params.yaml, the variant's entry in `catalog`, what this entry `uses`, its phases. Null means "not set here" in
each of them, so that a weaker place sets the value.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from mtbert.config.params import Fault, Params, Place, over
from mtbert.config.techniques import SECTIONS, USES
from mtbert.learning.objectives import OBJECTIVES


class MergedSettings(NamedTuple):
    """What several places set together.

    Attributes:
        values: the sections by name. A variant has `phases`, too: each is section `training` as that phase has it.
        places: by the keys of a value, the strongest place that sets it.
    """

    values: dict[str, Any]
    places: dict[Place, Place]

    def place(self, *keys: str | int) -> Place:
        """Return where a value is set; if nowhere, where it would be set at the top of params.yaml."""
        if keys[0] == "phases" and keys not in self.places:
            keys = ("training", *keys[2:])
        return self.places.get(keys, keys)

    def where_set(self, faults: Iterable[Fault]) -> list[Fault]:
        """Return faults whose place is keys of `values`, each at the place where the value is set."""
        return [Fault(self.place(*fault.place), fault.message) for fault in faults]


def places_of(params: Params, variant: str | None = None) -> list[Place]:
    """Return where sections may stand, the strongest place last; without a variant, the profile and the top alone."""
    profile: Place = ("profiles", str(params.get("profile")))
    if variant is None:
        return [profile, ()]
    whole = params.whole(variant)
    preset = params.get("catalog", whole, "preset") or params.get("catalog", whole, "paper")
    return [("presets", str(preset)), profile, ("tuned", whole), (), ("catalog", variant)]


def merge(params: Params, places: Iterable[Place]) -> MergedSettings:
    """Merge the sections of these places, the strongest last; a value that none of them sets has its typed default."""
    settings = MergedSettings({}, {})
    for place in places:
        content = params.get(*place) or {}
        sections = {key: value for key, value in content.items() if key in SECTIONS}
        set_here = {keys: (*place, *keys) for keys in _keys(sections)}
        settings = MergedSettings(over(settings.values, sections), settings.places | set_here)
    return settings


def merge_variant(params: Params, name: str) -> MergedSettings:
    """Merge all places of a variant."""
    values, places = merge(params, places_of(params, name))
    entry: Place = ("catalog", name)
    for number, technique in enumerate(params.get(*entry, "uses") or []):
        section, key = USES[technique]
        below = values.get(section, {})
        if technique in OBJECTIVES:  # a phase may have several
            value = [*dict.fromkeys([*(below.get(key) or []), technique])]
        else:
            value = technique
            places[section, key] = (*entry, "uses", number)
        values[section] = below | {key: value}
    training = values.get("training", {})
    phases = params.get(*entry, "phases")
    values["phases"] = [training] if phases is None else [over(training, phase) for phase in phases]
    places |= {("phases", *keys): (*entry, "phases", *keys) for keys in _keys(phases)}
    return MergedSettings(values, places)


def _keys(node: Any) -> Iterator[Place]:
    """Yield the keys of every value within sections or lists that is not null."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        if child is not None:
            yield (key,)
            yield from ((key, *below) for below in _keys(child))
