"""Turn params.yaml and the papers into one resolved, checked settings file for each variant.

A variant's file holds only what the variant uses, so that DVC trains again exactly what a change concerns. All values
are checked, and what the selected variants make of them; all faults are told at once, those of single values first.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mtbert import files, layout, merging, tasks
from mtbert.config import overrides, resolve, sections
from mtbert.config.params import Fault, Params, dotted
from mtbert.config.techniques import SECTIONS
from mtbert.data.preprocess import MOST_REFUSED
from mtbert.encoders import folders
from mtbert.encoders.settings import PRETRAININGS, EncoderSettings
from mtbert.errors import SettingsError
from mtbert.settings import VariantSettings

Documents = dict[str, dict[str, Any]]  # contents of files, by name
LOST = "{!r:.80} changes none of the selected variants; allowed: null, or a selection that it changes"


def plan(params: Params) -> Documents:
    """Return a file for each selected variant, and those that the other stages read; SettingsError with all faults."""
    _refuse(params, sections.find_faults(params))
    resolved = {name: resolve.variant(params, name) for name in params.get("variants")}
    _refuse(params, [fault for _, faults in resolved.values() for fault in faults])
    selected = {name: document for name, (document, _) in resolved.items()}
    found = [*overrides.find(params, selected)]
    lost = [one for one in found if one.place[0] in SECTIONS and not one.changes]  # set for all, and reaches none
    _refuse(params, [Fault(one.place, LOST.format(one.value)) for one in lost])
    _refuse(params, [*_of_merges(params, selected)])
    shared = resolve.shared(params, selected)
    encoder = EncoderSettings(**shared["encoder"])
    if encoder.folder and not encoder.revision:  # so that its files are an input of what follows
        shared["encoder"]["revision"] = folders.digest(encoder.folder)
    catalog = _catalog(params, selected, encoder)
    for name, entry in catalog["variants"].items():
        entry["overrides"] = {dotted(one.place): one.value for one in found if name in one.changes}
    needs = {"splits": _splits(selected, shared), "held_out": params.get("held_out")}
    needs["most_refused"] = params.get("most_refused") if params.get("most_refused") is not None else MOST_REFUSED
    needs["longest"] = _longest(selected)
    return {**selected, **shared, "needs": needs, "catalog": catalog}


def _of_merges(params: Params, selected: Documents) -> Iterator[Fault]:
    """Yield why the members of an ensemble cannot be merged."""
    for name, entry in (params.get("ensembles") or {}).items():
        if entry.get("merge") and all(member in selected for member in entry["members"]):
            members = [VariantSettings(**selected[member]) for member in entry["members"]]
            try:
                merging.settings_of(name, entry["merge"], members)
            except SettingsError as error:
                yield Fault(("ensembles", name, "members"), str(error))


def _refuse(params: Params, faults: list[Fault]) -> None:
    if faults:
        raise SettingsError(params.format_faults(faults))


def _catalog(params: Params, selected: Documents, encoder: EncoderSettings) -> dict[str, Any]:
    """Return what the report reads: the knobs, the encoder, all variants, and all ensembles."""
    return {
        **{knob: params.get(knob) for knob in ("profile", "data_dir", "held_out", "seeds")},
        "tasks": {name: tasks.stated(task) for name, task in params.tasks.items()},
        "encoder": {"name": encoder.shown, "note": encoder.note},
        "variants": {
            name: resolve.about(params, name) | {"selected": name in selected} for name in params.get("catalog")
        },
        "ensembles": {
            name: {**entry, "selected": all(member in selected for member in entry["members"])}
            for name, entry in (params.get("ensembles") or {}).items()
        },
    }


def _splits(selected: Documents, shared: Documents) -> list[list[str]]:
    """Return the splits that must exist: [task, split]."""
    needs = {(task, split) for variant in selected.values() for task in variant["tasks"] for split in ("train", "dev")}
    phases = [phase for variant in selected.values() for phase in variant["phases"]]
    needs |= {(entry, "train") for phase in phases for entry in phase["tasks"]}
    for name, kind in PRETRAININGS.items():
        settings = dict(shared[f"pretrain-{name}"])
        needs |= {(corpus, "train") for corpus in kind(**settings).corpora} if settings.pop("needed") else set()
    return [list(need) for need in sorted(needs)]


def _longest(selected: Documents) -> dict[str, list[Any]]:
    """Return by task the shortest limit of a sequence, and whether it holds a pair: what most rows are cut to."""
    found: dict[str, list[Any]] = {}
    for model, name in ((variant["model"], task) for variant in selected.values() for task in variant["tasks"]):
        limit = [model["pair_encoding"] == "cross", model["max_tokens"]]
        found[name] = min(limit, found.get(name, limit), key=lambda one: (one[1], not one[0]))
    return found


def write(documents: Mapping[str, Any], out: Path) -> None:
    """Write each document to a file, in a new directory; the catalog in its own order, which the report keeps."""
    with files.new_directory(out) as directory:
        for name, document in documents.items():
            files.write_yaml(directory / f"{name}.yaml", document, in_order=name == "catalog")
        layout.seal(directory)
