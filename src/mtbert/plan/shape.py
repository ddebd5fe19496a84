"""Check the form of params.yaml before anything is resolved: plain values, names, sections that are mappings."""

import math
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal

import pydantic
from pydantic import ConfigDict, Field

from mtbert.errors import UnknownNameError, faults
from mtbert.plan.params import Fault, Params, Place
from mtbert.plan.techniques import SECTIONS
from mtbert.pretraining.settings import PRETRAININGS
from mtbert.settings import Entry, Name, Section

LARGEST = 2**31 - 1  # for whole numbers: sizes, counts and seeds
OWN_FILES = ("catalog", "encoder", "needs", *(f"pretrain-{name}" for name in PRETRAININGS))  # beside variants
EACH_ONCE = (  # lists, anywhere, in which an entry may occur once
    "variants", "seeds", "members", "also", "uses", "tasks", "objectives", "trainable", "frozen", "corpora",
)  # fmt: skip
LAYERED = ("presets", "profiles", "catalog")  # their entries are laid over the sections

Text = Annotated[str, Field(min_length=1)]


class _Open(Section):
    """A mapping of which only some keys are checked here; the others are checked when they are resolved."""

    model_config = ConfigDict(extra="allow")


class _Model(_Open):
    heads: dict[str, Any] | None = None
    pooling: dict[str, Any] | None = None


class _Training(_Open):
    tasks: Literal["all"] | list[str] | None = None
    objectives: list[str] | None = None
    trainable: list[str] | None = None


class _Layer(_Open):
    """Sections as a preset, a profile, a variant or params.yaml itself holds them."""

    model: _Model | None = None
    training: _Training | None = None


class _Entry(Entry, _Layer):
    phases: list[_Training] = []


class _Ensemble(Section):
    paper: Name | None
    row: str
    members: list[Name] = Field(min_length=1)


class _Document(_Layer):
    profile: Name
    data_dir: Text
    launch: Text
    seeds: list[Annotated[int, Field(ge=0)]]
    variants: list[Name]
    presets: dict[Name, _Layer | None] | None = None
    profiles: dict[Name, _Layer | None]
    catalog: dict[Name, _Entry]
    ensembles: dict[Name, _Ensemble] | None = None


def find_faults(params: Params) -> list[Fault]:
    """Return faults that keep the settings from being resolved at all; values first, then names and sections."""
    return (
        [*_values(params.tree, ())]
        or _document(params)
        or [*_sections(params), *_own_files(params), *_twice(params.values)]
    )


def _document(params: Params) -> list[Fault]:
    try:
        _Document(**params.values)
    except pydantic.ValidationError as error:
        return [Fault(place, message) for place, message in faults(error)]
    return []


def _sections(params: Params) -> Iterator[Fault]:
    layers: list[Place] = [()]
    layers += [(collection, name) for collection in LAYERED for name in params.get(collection) or {}]
    for layer in layers:
        for place in [(*layer, name) for name in SECTIONS]:
            if not isinstance(section := params.get(*place), dict | None):
                yield Fault(place, f"a section is a mapping, came {section!r}")
        pretrain = params.get(*layer, "pretrain")
        for name, section in pretrain.items() if isinstance(pretrain, dict) else ():
            if name not in PRETRAININGS:
                unknown = UnknownNameError("pretraining", name, PRETRAININGS)
                yield Fault((*layer, "pretrain", name), str(unknown))
            elif not isinstance(section, dict | None):
                yield Fault((*layer, "pretrain", name), f"a section is a mapping, came {section!r}")


def _own_files(params: Params) -> Iterator[Fault]:
    for name in params.get("catalog"):
        if name in OWN_FILES:
            yield Fault(("catalog", name), f"a file of the plan has that name; taken: {', '.join(OWN_FILES)}")
        elif name.startswith("code-"):
            yield Fault(("catalog", name), "names that begin with code- are reserved for files of the plan")


def _twice(node: Any, place: Place = ()) -> Iterator[Fault]:
    """Yield entries that a list holds twice and may hold once."""
    seen: set[str] = set()
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if place and place[-1] in EACH_ONCE and isinstance(node, list):
            if repr(value) in seen:
                yield Fault((*place, key), f"{value!r} is listed twice; allowed: each once")
            seen.add(repr(value))
        yield from _twice(value, (*place, key))


def _values(node: Any, place: Place) -> Iterator[Fault]:
    """Yield what is not text, a finite number, a truth value, null, a list, or a mapping with text as keys."""
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(key, str):
                yield from _text(key, (*place, key))
                yield from _values(value, (*place, key))
            else:
                yield Fault(place, f"key {key!r}; allowed: text; put it in quotation marks")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _values(value, (*place, number))
    elif isinstance(node, str):
        yield from _text(node, place)
    elif isinstance(node, float) and not math.isfinite(node):
        yield Fault(place, f"{node} is not a finite number")
    elif isinstance(node, int) and abs(node) > LARGEST:
        yield Fault(place, f"a whole number beyond {LARGEST:,}, the largest allowed")
    elif isinstance(node, date):
        yield Fault(place, f"{node} is a date; put it in quotation marks to make it text")


def _text(text: str, place: Place) -> Iterator[Fault]:
    odd = next((character for character in text if not character.isprintable() and character not in "\n\t"), None)
    if odd is not None and (odd < " " or "\x7f" <= odd < "\xa0" or "\ud800" <= odd <= "\udfff"):
        yield Fault(place, f"it holds {odd!r}, which is not a text character")
