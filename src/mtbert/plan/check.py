"""What can be wrong in params.yaml outside of a single variant."""

import pydantic

from mtbert.encoder.sources import PRETRAININGS, EncoderSettings
from mtbert.errors import faults
from mtbert.plan.params import Fault, Params, at
from mtbert.plan.resolve import COLLECTIONS, merged, origin
from mtbert.plan.shape import SECTIONS
from mtbert.plan.techniques import REGISTRIES
from mtbert.settings import RunSettings

KNOBS = ("profile", "data_dir", "seeds", "variants", "launch")


def everything(params: Params) -> list[Fault]:
    """All faults but those of single variants."""
    return [*_top_level(params), *_sections(params), *_selection(params), *_ensembles(params)]


def _top_level(params: Params) -> list[Fault]:
    allowed = [*KNOBS, *COLLECTIONS, *SECTIONS]
    unknown = f"unknown section; allowed: {', '.join(allowed)}"
    found = [Fault((key,), unknown) for key in params.values if key not in allowed]
    for collection in ("presets", "profiles"):
        for name, sections in (params.get(collection) or {}).items():
            places = ((collection, name, key) for key in sections or {})
            found += [Fault(place, unknown) for place in places if place[2] not in SECTIONS]
    if params.get("profile") not in (params.get("profiles") or {}):
        known = ", ".join(params.get("profiles") or {})
        found.append(Fault(("profile",), f"unknown profile {params.get('profile')!r}; known: {known}"))
    return found


def _sections(params: Params) -> list[Fault]:
    """Every section by itself, also where no variant uses it."""
    typed: dict[tuple[str, ...], type] = {("encoder",): EncoderSettings, ("run",): RunSettings}
    typed |= {("pretrain", name): settings for name, settings in PRETRAININGS.items()}
    typed |= {(name,): registry[name].settings for registry in REGISTRIES for name in registry}
    found = []
    for place, settings in typed.items():
        try:
            settings(**at(merged(params, place[0]), place[1:]) or {})
        except pydantic.ValidationError as error:
            places = [((*place, *keys), said) for keys, said in faults(error)]
            found += [Fault(origin(params, where) or where, said) for where, said in places]
    return found


def _selection(params: Params) -> list[Fault]:
    """The knobs `variants` and `seeds`."""
    catalog = params.get("catalog")
    found = []
    for key in ("variants", "seeds"):
        if not params.get(key):
            found.append(Fault((key,), "needs one entry at least"))
    there = f"is not in the catalog; there are: {', '.join(catalog)}"
    for number, name in enumerate(params.get("variants")):
        if name not in catalog:
            found.append(Fault(("variants", number), f"{name!r} {there}"))
    return found


def _ensembles(params: Params) -> list[Fault]:
    catalog = params.get("catalog")
    found = []
    for name, entry in (params.get("ensembles") or {}).items():
        place = ("ensembles", name)
        if name in catalog:
            found.append(Fault(place, "a variant has the same name"))
        found += [
            Fault((*place, "members", number), f"{member!r} is not in the catalog; there are: {', '.join(catalog)}")
            for number, member in enumerate(entry["members"])
            if member not in catalog
        ]
    return found
