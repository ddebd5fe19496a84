"""Turn params.yaml into one resolved, checked settings file for each variant.

A variant's file holds only what the variant uses, so that DVC trains again exactly what a change concerns. Every
variant of the catalog is checked before anything trains. All faults are reported at once, without those that follow
from others. Values that depart from the shipped params.yaml are reported with what they change.
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
    """The files for the stages, by name, and the lines to print on the terminal."""

    documents: dict[str, Any]
    notes: list[str]


def plan(params: Params) -> Planned:
    """Resolve and check everything; SettingsError with all faults."""
    if malformed := shape.find_faults(params):
        raise SettingsError(params.format_faults(malformed))
    causes = values.find_faults(params)
    sound = values.repaired(params, causes) if causes else params
    variants, others, aside = _variants(sound)
    following = [fault for fault in (*check.find_faults(sound), *others) if not _follows(fault, causes)]
    if causes or following:
        raise SettingsError(params.format_faults([*causes, *following]))
    selected = {name: variants[name] for name in params.get("variants")}
    all_effects = effects.effects(params, selected, departures(params))
    if lost := [effects.lost(effect) for effect in all_effects if effect.is_lost]:
        raise SettingsError(params.format_faults(lost))
    planned = documents(params, variants)
    planned["catalog"] |= {"overrides": [effect.departure.override for effect in all_effects]}
    for name, entry in planned["catalog"]["variants"].items():
        entry["departures"] = _departures(name, all_effects)
    return Planned(planned, [*_notes(params, all_effects), *aside])


def _follows(fault: Fault, causes: list[Fault]) -> bool:
    """Return whether a fault may follow from one at the same place, above or below it."""
    return any(
        fault.place[: len(cause.place)] == cause.place or cause.place[: len(fault.place)] == fault.place
        for cause in causes
    )


def _variants(params: Params) -> tuple[Variants, list[Fault], list[str]]:
    """Resolve every variant; return also their faults, and a note on unselected ones that the values do not fit.

    Such a variant is resolved with the shipped values, since the report lists it.
    """
    variants: Variants = {}
    all_faults: list[Fault] = []
    misfits = []
    for name in params.get("catalog"):
        variants[name], faults = resolve.variant(params, name)
        if faults and name not in params.get("variants"):
            shipped_values = _sections_as_shipped(params)
            document, remaining = resolve.variant(shipped_values, name)
            if not remaining:
                variants[name], faults = document, []
                misfits.append(name)
        all_faults += faults
    note = f"  not selected, and not possible with these values: {', '.join(misfits)}"
    return variants, all_faults, [note] if misfits else []


def _sections_as_shipped(params: Params) -> Params:
    """Return the settings with the shipped values wherever a value was set for all variants."""
    for departure in departures(params):
        if departure.place[0] not in COLLECTIONS:
            params = params.put(departure.place, departure.shipped)
    return params


def _departures(name: str, all_effects: list[Effect]) -> dict[str, Any]:
    """Return keys and values that change a selected variant of the shipped catalog; none for a variant of your own."""
    changing = (effect.departure for effect in all_effects if name in effect.changes)
    return {
        departure.key: departure.value if departure.value is not MISSING else None
        for departure in changing
        if departure.place != ("catalog", name)
    }


def _notes(params: Params, all_effects: list[Effect]) -> list[str]:
    """Return a line for each value that changes something or was set for all variants, and one for the rest."""
    weighty = [effect for effect in all_effects if effect.at_the_top or effect.changes or effect.documents]
    lines = [effects.describe(params, effect) for effect in weighty]
    if rest := [effect.departure.key for effect in all_effects if effect not in weighty]:
        lines.append(f"  changes no selected variant: {', '.join(rest)}")
    return ["what departs from the shipped params.yaml", *lines] if lines else []


def write(documents: Mapping[str, Any], out: Path) -> None:
    """Write each document to a file, in a new directory; the catalog in its own order, which the report keeps."""
    with files.new_directory(out) as directory:
        for name, document in documents.items():
            files.write_yaml(directory / f"{name}.yaml", document, in_order=name == "catalog")


__all__ = ["Params", "Planned", "plan", "write"]
