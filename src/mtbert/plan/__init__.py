"""params.yaml to one resolved, checked settings file per variant.

What a variant does not use never reaches its file, so that DVC trains again exactly what a change concerns. Every
variant of the catalog is checked before anything trains, and all faults are told at once, without those that only
follow from others. What departs from the shipped params.yaml is told with what it changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.plan import check, effects, resolve, shape, values
from mtbert.plan.departures import departures
from mtbert.plan.documents import documents
from mtbert.plan.effects import Effect, Variants
from mtbert.plan.layers import COLLECTIONS
from mtbert.plan.params import MISSING, Fault, Params


@dataclass(frozen=True)
class Planned:
    """What the stages get, by file name, and what the person at the terminal is told, line by line."""

    documents: dict[str, Any]
    notes: list[str]


def plan(params: Params) -> Planned:
    """Resolve and check everything; SettingsError with all faults."""
    if wrong := shape.wrong(params):
        raise SettingsError(params.told(wrong))
    causes = values.wrong(params)
    sound = values.repaired(params, causes) if causes else params
    variants, others, aside = _variants(sound)
    following = [fault for fault in (*check.everything(sound), *others) if not _told(fault, causes)]
    if causes or following:
        raise SettingsError(params.told([*causes, *following]))
    selected = {name: variants[name] for name in params.get("variants")}
    found = effects.effects(params, selected, departures(params))
    if lost := [effects.lost(effect) for effect in found if effect.is_lost]:
        raise SettingsError(params.told(lost))
    planned = documents(params, variants)
    planned["catalog"] |= {"overrides": [effect.departure.override for effect in found]}
    for name, entry in planned["catalog"]["variants"].items():
        entry["departures"] = _departures(name, found)
    return Planned(planned, [*_notes(params, found), *aside])


def _told(fault: Fault, causes: list[Fault]) -> bool:
    """Whether something wrong there, above or below has been told."""
    return any(
        fault.place[: len(cause.place)] == cause.place or cause.place[: len(fault.place)] == fault.place
        for cause in causes
    )


def _variants(params: Params) -> tuple[Variants, list[Fault], list[str]]:
    """Every variant resolved, their faults, and a note on those, not selected, that a value set does not fit.

    Such a variant is resolved without that value, since the report lists it.
    """
    variants: Variants = {}
    wrong: list[Fault] = []
    misfits = []
    for name in params.get("catalog"):
        variants[name], found = resolve.variant(params, name)
        if found and name not in params.get("variants"):
            shipped_values = _sections_as_shipped(params)
            document, left = resolve.variant(shipped_values, name)
            if not left:
                variants[name], found = document, []
                misfits.append(name)
        wrong += found
    note = f"  not selected, and not possible with these values: {', '.join(misfits)}"
    return variants, wrong, [note] if misfits else []


def _sections_as_shipped(params: Params) -> Params:
    """What was set for every variant taken back."""
    for departure in departures(params):
        if departure.place[0] not in COLLECTIONS:
            params = params.put(departure.place, departure.shipped)
    return params


def _departures(name: str, found: list[Effect]) -> dict[str, Any]:
    """Key to value of what makes a selected variant other than the shipped one; an entry of one's own is none."""
    changing = (effect.departure for effect in found if name in effect.changes)
    return {
        departure.key: departure.value if departure.value is not MISSING else None
        for departure in changing
        if departure.place != ("catalog", name)
    }


def _notes(params: Params, found: list[Effect]) -> list[str]:
    """A line for each value that changes something or was set for all, and one for the rest."""
    weighty = [effect for effect in found if effect.at_the_top or effect.changes or effect.documents]
    lines = [effects.told(params, effect) for effect in weighty]
    if rest := [effect.departure.key for effect in found if effect not in weighty]:
        lines.append(f"  changes no selected variant: {', '.join(rest)}")
    return ["what departs from the shipped params.yaml", *lines] if lines else []


def write(documents: Mapping[str, Any], out: Path) -> None:
    """One file a document, in a new directory."""
    with files.new_directory(out) as directory:
        for name, document in documents.items():
            files.write_yaml(directory / f"{name}.yaml", document)


__all__ = ["Params", "Planned", "plan", "write"]
