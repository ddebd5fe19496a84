"""Find what each value that departs from the shipped params.yaml changes, and why it does not change other variants."""

from dataclasses import dataclass, field
from typing import Any

from mtbert.objectives import OBJECTIVES
from mtbert.plan import rates, resolve
from mtbert.plan.departures import Departure
from mtbert.plan.documents import shared
from mtbert.plan.layers import COLLECTIONS, layers
from mtbert.plan.params import MISSING, Fault, Params, Place, dotted
from mtbert.plan.techniques import NAMES, place_of
from mtbert.pretraining.settings import PRETRAININGS

LONGEST_SHOWN = 80  # characters of a value in a message
RATE, RATES = ("training", "learning_rate"), ("training", "learning_rates")
Variants = dict[str, dict[str, Any]]  # resolved, by name


@dataclass(frozen=True)
class Effect:
    """The effect of one departure.

    Attributes:
        departure: the value that was set or removed.
        changes: the selected variants that it changes.
        documents: the files of encoder and pretrainings that it changes.
        others: for each of the other selected variants, why it does not change.
    """

    departure: Departure
    changes: list[str]
    documents: list[str]
    others: dict[str, str] = field(default_factory=dict)

    @property
    def at_the_top(self) -> bool:
        """Whether the value was set in a section of params.yaml itself, for all variants."""
        return self.departure.place[0] not in COLLECTIONS and self.departure.value not in (None, MISSING)

    @property
    def is_lost(self) -> bool:
        """Whether it was set for all variants and reaches none."""
        return self.at_the_top and not (self.changes or self.documents or ALREADY in self.others.values())


ALREADY = "has it already"


def effects(params: Params, selected: Variants, departures: list[Departure]) -> list[Effect]:
    """Return the effect of each departure: resolve the selected variants with the shipped value in its place."""
    now = shared(params, selected)
    return [_effect(params, selected, now, departure) for departure in departures]


def _effect(params: Params, selected: Variants, now: dict[str, Any], departure: Departure) -> Effect:
    without = params.put(departure.place, departure.shipped)
    before = shared(without, selected) if _concerns_shared(departure.place) else now
    documents = [name for name in now if now[name] != before[name]]
    changes, others = [], {}
    for name, document in selected.items():
        starts_anew = "encoder" in documents or f"pretrain-{document['model']['encoder']}" in documents
        if starts_anew or (_concerns(params, name, departure.place) and _resolved(without, name) != document):
            changes.append(name)
        else:
            others[name] = _why(params, name, document, departure)
    return Effect(departure, changes, documents, others)


def _concerns_shared(place: Place) -> bool:
    section = place[2:3] if place[0] in COLLECTIONS else place[:1]
    return place[0] != "catalog" and (not section or section[0] in ("encoder", "pretrain", "run"))


def _concerns(params: Params, name: str, place: Place) -> bool:
    return place[0] not in COLLECTIONS or place[:2] in layers(params, name)


def _resolved(params: Params, name: str) -> dict[str, Any] | None:
    """Resolve a variant; None where it does not exist, or has faults."""
    if not isinstance(params.get("catalog", name), dict):
        return None
    document, faults = resolve.variant(params, name)
    return None if faults else document


def _why(params: Params, name: str, document: dict[str, Any], departure: Departure) -> str:
    place = departure.place
    if place[0] in COLLECTIONS:
        return "is not concerned"
    if place[0] == "pretrain" and document["model"]["encoder"] not in place:
        return f"does not start from {' or '.join(map(str, place[1:2] or tuple(PRETRAININGS)))}"
    if place[0] in NAMES and place[0] not in _used(document):
        return f"does not use {place[0]}"
    if kept := _kept(params, name, place) or _other_rate(params, name, document, place):
        return f"keeps {dotted(kept)}"
    if place[:2] in (("model", "heads"), ("model", "pooling")) and place[2:] and place[2] not in document["tasks"]:
        return f"has no task {place[2]}"
    if place[0] == "training" and not document["phases"]:
        return "is not trained"
    if place[:2] == RATES and place[2:] and place[2] not in _kinds(document):
        return f"is trained as {' and '.join(_kinds(document))}"
    return ALREADY


def _used(document: Any) -> set[str]:
    """Return the techniques that a resolved variant names."""
    if isinstance(document, dict):
        own = {document["name"]} if isinstance(document.get("name"), str) else set()
        return own.union(*map(_used, document.values()))
    return set().union(*map(_used, document)) if isinstance(document, list) else set()


def _kept(params: Params, name: str, place: Place) -> Place | None:
    """Return the place where the variant itself sets this, if it does."""
    entry: Place = ("catalog", name)
    if params.get(*entry, *place) is not None:
        return (*entry, *place)
    phases = params.get(*entry, "phases") or []
    if place[0] == "training" and phases and all(place[1] in phase for phase in phases):
        return (*entry, "phases")
    used = params.get(*entry, "uses") or []
    return (*entry, "uses") if any(place_of(name) == place and name not in OBJECTIVES for name in used) else None


def _other_rate(params: Params, name: str, document: dict[str, Any], place: Place) -> Place | None:
    """Return the place of a learning rate that overrides this one: that of its kind of training, or its own."""
    if place[:2] not in (RATE, RATES):
        return None
    entry: Place = ("catalog", name)
    of_kinds: list[Place] = [(*layer, *RATES, kind) for layer in (entry, ()) for kind in _kinds(document)]
    stated = (other for other in (*of_kinds, (*entry, *RATE)) if other != place and params.get(*other) is not None)
    return next(stated, None)


def _kinds(document: dict[str, Any]) -> list[str]:
    """Return the kinds of training of a resolved variant."""
    return list(dict.fromkeys(map(rates.of_phase, document["phases"])))


def describe(params: Params, effect: Effect) -> str:
    """Return one line: the value, what it changes, and which variants keep theirs."""
    departure = effect.departure
    value = "removed" if departure.value is MISSING else f"= {_shown(departure.value)}"
    was = "" if departure.shipped is MISSING else f" (shipped: {_shown(departure.shipped)})"
    changed = [*effect.changes, *(name for name in effect.documents if not effect.changes)]
    does = f"changes {', '.join(changed)}" if changed else "changes none"
    kept = f"; {_others(effect)}" if effect.at_the_top and effect.others else ""
    return f"  {params.file}:{params.line(departure.place)}: {departure.key} {value}{was}: {does}{kept}"


def lost(effect: Effect) -> Fault:
    """Return the fault of a value that was set and has no effect."""
    return Fault(
        effect.departure.place,
        f"{_shown(effect.departure.value)} changes none of the selected variants: {_others(effect)}; allowed: the "
        f"shipped value, {_shown(effect.departure.shipped)}, or a selection in `variants` that it changes",
    )


def _others(effect: Effect) -> str:
    """List the unchanged variants by reason."""
    names: dict[str, list[str]] = {}
    for name, why in effect.others.items():
        names.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(those)} {_plural(why) if len(those) > 1 else why}" for why, those in names.items())


def _plural(why: str) -> str:
    verb, _, rest = why.partition(" ")
    return f"{ {'does': 'do', 'has': 'have', 'is': 'are', 'keeps': 'keep'}[verb] } {rest}"


def _shown(value: Any) -> str:
    text = "nothing" if value is MISSING else "null" if value is None else str(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
