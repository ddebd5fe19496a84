"""Which value counts: the layers that can set one, and how they are merged.

From weak to strong: the typed defaults, the paper's preset, the profile, the section at the top of params.yaml, the
variant. Null means "not set here" in each of them, so that a weaker layer sets the value.
"""

import copy
from typing import TYPE_CHECKING, Any

from mtbert.settings import LENGTHS, Entry

if TYPE_CHECKING:
    from mtbert.config.params import Params, Place

KNOBS = ("profile", "data_dir", "seeds", "variants", "launch")
COLLECTIONS = ("presets", "profiles", "catalog", "ensembles")
COMMON = ("run", "model", "training")  # sections that every variant uses
SHARED = ("encoder", "pretrain")  # sections that all variants share
SEARCH = "search"  # no training depends on it: it finds values that a profile then states
ENTRY = tuple(Entry.model_fields)  # keys of a catalog entry beside sections


def layers(params: "Params", variant: str | None = None) -> "list[Place]":
    """Return the layers above the defaults, the strongest last; without a variant, those of no variant or paper."""
    profile: Place = ("profiles", str(params.get("profile")))
    if variant is None:
        return [profile, ()]
    preset = params.get("catalog", variant, "preset") or params.get("catalog", variant, "paper")
    return [("presets", str(preset)), profile, (), ("catalog", variant)]


def merged(params: "Params", section: str, variant: str | None = None) -> dict[str, Any]:
    """Return a section merged from all layers, without nulls; what is not in it has its typed default."""
    result: dict[str, Any] = {}
    for layer in layers(params, variant):
        result = over(result, params.get(*layer, section) or {})
    return result


def over(base: Any, top: Any) -> Any:
    """Lay `top` over `base`: merge mappings, ignore nulls, and replace everything else.

    A way to state an epoch's length in `top` replaces any other way. A `learning_rate` in `top` replaces
    `learning_rates` in `base`, which hold one for each kind of training.
    """
    if not isinstance(top, dict):
        return copy.deepcopy(top)
    below = base if isinstance(base, dict) else {}
    if any(top.get(key) is not None for key in LENGTHS):
        below = {key: value for key, value in below.items() if key not in LENGTHS}
    if top.get("learning_rate") is not None:
        below = {key: value for key, value in below.items() if key != "learning_rates"}
    return {**below, **{key: over(below.get(key), value) for key, value in top.items() if value is not None}}


def origin(params: "Params", place: "Place", variant: str | None = None) -> "Place":
    """Return the place where the value that counts was set, or the place itself where none was."""
    strongest = reversed(layers(params, variant))
    return next(((*layer, *place) for layer in strongest if params.get(*layer, *place) is not None), place)
