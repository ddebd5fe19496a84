"""Check every value of params.yaml: unknown keys and names, values of a wrong type or size.

Each is checked by itself, also where no variant uses it, so that a fault can be distinguished from those that follow
from it.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import pydantic
from pydantic import AfterValidator

from mtbert.errors import UnknownNameError, faults
from mtbert.heads import HEADS
from mtbert.objectives import OBJECTIVES
from mtbert.plan.departures import shipped
from mtbert.plan.layers import COLLECTIONS, COMMON, DEFAULT, ENTRY, KNOBS, SEARCH, over
from mtbert.plan.params import MISSING, Fault, Params, Place
from mtbert.plan.rates import LearningRates, SearchSettings
from mtbert.plan.techniques import NAMES, PLACES, REGISTRIES, SECTIONS, USABLE
from mtbert.pretraining.settings import PRETRAININGS, EncoderSettings
from mtbert.settings import ModelSettings, PhaseSettings, PhaseTask, RunSettings, Section, TaskName
from mtbert.tasks import TASKS

ROUNDS = 3  # number of times that repaired values are checked again


def find_faults(params: Params) -> list[Fault]:
    """Return every fault of a single key, name or value."""
    return [fault for part in (_keys, _sections, _names, _entries) for fault in part(params)]


def repaired(params: Params, faults: list[Fault]) -> Params:
    """Return the settings without these faults: with what was probably meant, else the shipped value, else nothing."""
    for number in range(ROUNDS):
        for fault in faults:
            params = _repaired(params, fault, guess=number == 0)
        if not (faults := find_faults(params)):
            break
    return params


def _repaired(params: Params, fault: Fault, guess: bool) -> Params:
    place, meant = fault.place, fault.meant if guess else None
    value = params.get(*place, missing=MISSING)
    if value is MISSING:
        return params
    if meant and not fault.of_key:
        return params.put(place, meant)
    if meant and params.get(*place[:-1], meant) is None:
        params = params.put((*place[:-1], meant), value)
    while isinstance(place[-1], int):  # of a list
        place = place[:-1]
    return params.put(place, MISSING if fault.of_key else shipped().get(*place, missing=MISSING))


def partial(kind: type[Section], **other: Any) -> type[Section]:
    """Return a type with the same keys, all optional; `other` gives types for some of them, or further keys."""
    fields: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        own = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        fields[name] = (other.pop(name, own), None)
    fields |= {name: (own, None) for name, own in other.items()}
    return pydantic.create_model(kind.__name__, __base__=Section, **fields)


def _one_of(kind: str, known: Iterable[str]) -> Any:
    """Return the type of text that is one of these names."""
    names = tuple(known)

    def check(name: str) -> str:
        if name not in names:
            raise UnknownNameError(kind, name, names)
        return name

    return Annotated[str, AfterValidator(check)]


def _typed() -> dict[Place, type[Section]]:
    """Return the type of each section of params.yaml, where a technique is a name and its options have a section."""
    named: dict[str, Any] = {place[1]: _one_of(registry.kind, registry) for place, registry in PLACES.items()}
    heads = dict[TaskName, _one_of(HEADS.kind, HEADS)]
    encoder = _one_of("starting weights", ("base", *PRETRAININGS))
    tasks = Literal["all"] | list[PhaseTask]
    objectives = list[_one_of(OBJECTIVES.kind, OBJECTIVES)]
    typed: dict[Place, type[Section]] = {
        ("run",): partial(RunSettings),
        ("model",): partial(ModelSettings, encoder=encoder, heads=heads, **named),
        ("training",): partial(
            PhaseSettings, tasks=tasks, objectives=objectives, learning_rates=LearningRates, **named
        ),
        ("encoder",): partial(EncoderSettings),
        (SEARCH,): partial(SearchSettings),
    }
    typed |= {("pretrain", name): partial(settings) for name, settings in PRETRAININGS.items()}
    return typed | {(name,): partial(registry[name].settings) for registry in REGISTRIES for name in registry}


TYPED = _typed()


def _unknown(place: Place, known: Iterable[str], kind: str = "key") -> Fault:
    name = UnknownNameError(kind, place[-1], known)
    hint = f"did you mean {name.meant}? " if name.meant else ""
    return Fault(place, f"unknown {kind}; {hint}allowed: {', '.join(known)}", name.meant, of_key=True)


def _keys(params: Params) -> Iterator[Fault]:
    """Yield unknown sections of params.yaml, presets and profiles, and unknown keys of catalog entries."""
    allowed: dict[str, tuple[str, ...]] = {"presets": (*COMMON, *NAMES), "profiles": SECTIONS}
    allowed["catalog"] = (*ENTRY, *COMMON, *NAMES)
    top = (*KNOBS, *COLLECTIONS, *SECTIONS)
    yield from (_unknown((key,), top, "section") for key in params.values if key not in top)
    for collection, usual in allowed.items():
        for name, content in (params.get(collection) or {}).items():
            known = SECTIONS if (collection, name) == DEFAULT else usual
            kind = "key" if collection == "catalog" else "section"
            yield from (_unknown((collection, name, key), known, kind) for key in content or {} if key not in known)


def _sections(params: Params) -> Iterator[Fault]:
    """Check the values of all sections, in every layer."""
    layers: list[Place] = [()]
    layers += [(collection, name) for collection in COLLECTIONS[:3] for name in params.get(collection) or {}]
    for layer in layers:
        for section, kind in TYPED.items():
            yield from _section((*layer, *section), params.get(*layer, *section), kind)
    for name, entry in params.get("catalog").items():
        for number, phase in enumerate(entry.get("phases") or []):
            yield from _section(("catalog", name, "phases", number), phase, TYPED["training",])


def _section(place: Place, section: Any, kind: type[Section]) -> Iterator[Fault]:
    if not isinstance(section, dict):
        return
    known = kind.model_fields
    yield from (_unknown((*place, key), known) for key in section if key not in known)
    try:
        kind(**over({}, {key: value for key, value in section.items() if key in known}))
    except pydantic.ValidationError as error:
        for detail, (keys, message) in zip(error.errors(), faults(error), strict=True):
            meant = getattr(detail.get("ctx", {}).get("error"), "meant", None)
            yield Fault((*place, *keys), message, meant, "[key]" in detail["loc"])


def _names(params: Params) -> Iterator[Fault]:
    """Check the knobs `profile` and `variants`, and each ensemble's paper and members."""
    catalog = params.get("catalog")
    yield from _named(params, ("profile",), "profile", params.get("profiles"))
    yield from _listed(params, ("variants",), "variant", catalog)
    for name in params.get("ensembles") or {}:
        yield from _listed(params, ("ensembles", name, "members"), "variant", catalog)
        yield from _named(params, ("ensembles", name, "paper"), "paper", _papers(params))


def _entries(params: Params) -> Iterator[Fault]:
    """Check the names in catalog entries; a variant of your own may leave out the paper."""
    for name in params.get("catalog"):
        for key in ("paper", "preset"):
            yield from _named(params, ("catalog", name, key), key, _papers(params))
        yield from _listed(params, ("catalog", name, "uses"), "technique", USABLE)
        yield from _listed(params, ("catalog", name, "tasks"), "task", TASKS)


def _papers(params: Params) -> list[str]:
    """Return the papers, which are known by their presets."""
    return [name for name in params.get("presets") or {} if name != DEFAULT[1]]


def _named(params: Params, place: Place, kind: str, known: Iterable[str]) -> Iterator[Fault]:
    name = params.get(*place)
    if name is not None and name not in known:
        error = UnknownNameError(kind, name, known)
        yield Fault(place, str(error), error.meant)


def _listed(params: Params, place: Place, kind: str, known: Iterable[str]) -> Iterator[Fault]:
    for number in range(len(params.get(*place) or [])):
        yield from _named(params, (*place, number), kind, known)
