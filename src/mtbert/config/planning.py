"""Turn params.yaml and the papers into one resolved, checked settings file for each variant.

A variant's file holds only what the variant uses, so that DVC trains again exactly what a change concerns. All values
are checked, and what the selected variants make of them; all faults are told at once, those of single values first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files
from mtbert.config import overrides, resolve, sections
from mtbert.config.params import Fault, Params, dotted
from mtbert.config.techniques import SECTIONS
from mtbert.errors import SettingsError
from mtbert.pretraining.settings import PRETRAININGS, EncoderSettings
from mtbert.tasks import corpus


class Planned(NamedTuple):
    """The files for the stages, by name, and the lines to print on the terminal."""

    documents: dict[str, Any]
    notes: list[str]


def plan(params: Params) -> Planned:
    """Resolve and check the selected variants; SettingsError with all faults."""
    _refuse(params, sections.find_faults(params))
    selected, faults = dict[str, dict[str, Any]](), list[Fault]()
    for name in params.get("variants"):
        selected[name], own = resolve.variant(params, name)
        faults += own
    _refuse(params, faults)
    found = [*overrides.find(params, selected)]
    lost = [one for one in found if one.place[0] in SECTIONS and not one.changes]  # set for all, and reaches none
    _refuse(params, [overrides.lost(params, one) for one in lost])
    planned = documents(params, selected)
    for name, entry in planned["catalog"]["variants"].items():
        theirs = [one for one in found if name in one.changes and one.place != ("catalog", name)]
        entry["overrides"] = {dotted(one.place): one.value for one in theirs}  # none for a variant of your own
    lines = [overrides.describe(params, one) for one in found]
    return Planned(planned, ["what departs from the defaults", *lines] if lines else [])


def _refuse(params: Params, faults: list[Fault]) -> None:
    if faults:
        raise SettingsError(params.format_faults(faults))


def documents(params: Params, selected: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the content of each file: one for each selected variant, and those that the other stages read."""
    shared = resolve.shared(params, selected)
    encoder = EncoderSettings(**shared["encoder"])
    catalog = {
        **{knob: params.get(knob) for knob in ("profile", "data_dir", "seeds")},
        "encoder": {"name": encoder.shown, "note": encoder.note},
        "variants": {
            name: resolve.about(params, name) | {"selected": name in selected} for name in params.get("catalog")
        },
        "ensembles": {
            name: {**entry, "selected": all(member in selected for member in entry["members"])}
            for name, entry in (params.get("ensembles") or {}).items()
        },
    }
    return {**selected, **shared, "needs": _needs([*selected.values()], shared), "catalog": catalog}


def _needs(selected: list[dict[str, Any]], shared: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return the splits that must exist: [task, split]."""
    needs = {(task, split) for variant in selected for task in variant["tasks"] for split in ("train", "dev")}
    needs |= {
        (corpus(entry), "train") for variant in selected for phase in variant["phases"] for entry in phase["tasks"]
    }
    for name, kind in PRETRAININGS.items():
        settings = dict(shared[f"pretrain-{name}"])
        needs |= {(corpus, "train") for corpus in kind(**settings).corpora} if settings.pop("needed") else set()
    return [list(need) for need in sorted(needs)]


def write(documents: Mapping[str, Any], out: Path) -> None:
    """Write each document to a file, in a new directory; the catalog in its own order, which the report keeps."""
    with files.new_directory(out) as directory:
        for name, document in documents.items():
            files.write_yaml(directory / f"{name}.yaml", document, in_order=name == "catalog")
        files.seal(directory)
