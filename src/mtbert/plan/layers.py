"""Where a value may be set, from weak to strong: presets.default, the paper's preset, profile, section, variant.

Null says "not set here" in each of them, so that a weaker layer has its say.
"""

import copy
from typing import Any

from mtbert.plan.params import Params, Place
from mtbert.settings import LENGTHS, Entry

KNOBS = ("profile", "data_dir", "seeds", "variants", "launch")
COLLECTIONS = ("presets", "profiles", "catalog", "ensembles")
COMMON = ("run", "model", "training")  # sections that every variant uses
SHARED = ("encoder", "pretrain")  # sections that are no variant's
SEARCH = "search"  # the section that no training depends on: it looks for values that a profile then states
ENTRY = tuple(Entry.model_fields)  # what a catalog entry holds beside sections
DEFAULT = ("presets", "default")  # what holds where nothing else speaks


def layers(params: Params, variant: str | None = None) -> list[Place]:
    """Places that give values, the strongest last; without a variant, those that concern none."""
    profile: Place = ("profiles", str(params.get("profile")))
    if variant is None:
        return [DEFAULT, profile, ()]
    preset = params.get("catalog", variant, "preset") or params.get("catalog", variant, "paper")
    return [DEFAULT, ("presets", str(preset)), profile, (), ("catalog", variant)]


def merged(params: Params, section: str, variant: str | None = None) -> dict[str, Any]:
    """A section after all layers, without nulls."""
    result: dict[str, Any] = {}
    for layer in layers(params, variant):
        result = over(result, params.get(*layer, section) or {})
    return result


def over(base: Any, top: Any) -> Any:
    """`top` laid over `base`: mappings are merged, nulls give way, everything else is replaced.

    Of the ways to state an epoch's length the one that `top` has takes the place of any other. A `learning_rate` there
    takes the place of `learning_rates` below, which say it by kind of training.
    """
    if not isinstance(top, dict):
        return copy.deepcopy(top)
    below = base if isinstance(base, dict) else {}
    if any(top.get(key) is not None for key in LENGTHS):
        below = {key: value for key, value in below.items() if key not in LENGTHS}
    if top.get("learning_rate") is not None:
        below = {key: value for key, value in below.items() if key != "learning_rates"}
    return {**below, **{key: over(below.get(key), value) for key, value in top.items() if value is not None}}


def origin(params: Params, place: Place, variant: str | None = None) -> Place | None:
    """Where the value that counts was set, if it was."""
    strongest = reversed(layers(params, variant))
    return next(((*layer, *place) for layer in strongest if params.get(*layer, *place) is not None), None)
