"""Turn params.yaml and the papers into one resolved, checked settings file for each variant.

A variant's file holds only what the variant uses, so that DVC trains again exactly the variants that a change concerns.
First all values are checked, then the selected variants that are resolved from them. All faults of a check are listed
at once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert import files, tasks
from mtbert.config import checks, overrides, resolve, sections
from mtbert.config.overrides import Override
from mtbert.config.params import Fault, Params, dotted
from mtbert.config.techniques import SECTIONS
from mtbert.data.preprocess import MOST_REFUSED
from mtbert.errors import SettingsError
from mtbert.pretrained import folders
from mtbert.pretrained.settings import EncoderSettings, SbertSettings
from mtbert.provenance import seals
from mtbert.variants.settings import RATES, VariantSettings

NO_EFFECT = "{!r:.80} changes none of the selected variants; allowed: null, or a selection that it changes"


def plan(params: Params) -> dict[str, Any]:
    """Return the contents of files by name: one for each selected variant, and those that the other stages read.

    SettingsError with all faults.
    """
    _refuse(params, sections.find_faults(params))
    _refuse(params, _profile_faults(params))
    selected = _resolved(params)
    all_overrides = [*overrides.find(params, selected)]
    _refuse(
        params,
        [
            *_without_effect(all_overrides, selected, {*tasks.COURSE, *params.tasks}),
            *checks.selection_faults(params, selected),
        ],
    )
    shared = resolve.shared(params, selected)
    encoder = EncoderSettings(**shared["encoder"])
    if encoder.folder and not encoder.revision:  # so that the folder's files are an input of later stages
        encoder = encoder.model_copy(update={"revision": folders.digest(encoder.folder)})
        shared["encoder"]["revision"] = encoder.revision
    preprocess = {
        "splits": _splits(selected, shared),
        "held_out": params.get("held_out"),
        "most_refused": MOST_REFUSED if params.get("most_refused") is None else params.get("most_refused"),
        "longest": _longest(selected),
        "pretraining": _pretraining(shared),
    }
    _refuse(params, _faults_of_pretraining(params, shared))
    return {
        **selected,
        **shared,
        "preprocess": preprocess,
        "catalog": _catalog(params, selected, encoder, all_overrides),
    }


def _resolved(params: Params) -> dict[str, Any]:
    """Return the files of the selected variants."""
    selected: dict[str, Any] = {}
    all_faults: list[Fault] = []
    for name in params.get("variants"):
        document, faults = resolve.variant(params, name)
        all_faults += faults
        if document:
            selected[name] = document
    _refuse(params, all_faults)
    return selected


def _without_effect(
    all_overrides: Iterable[Override], selected: dict[str, Any], all_tasks: Collection[str]
) -> Iterator[Fault]:
    """Yield the values set for all variants that change none of the selected ones, or are of a task that none has."""
    own_tasks = [document["tasks"] for document in selected.values()]
    trained = [phase["tasks"] for document in selected.values() for phase in document["phases"]]
    other_tasks = {*all_tasks}.difference(*own_tasks, *trained)
    for override in all_overrides:
        section, *keys = override.place
        if section in SECTIONS and (not override.files or not other_tasks.isdisjoint(keys)):
            yield Fault(override.place, NO_EFFECT.format(override.value))


def _profile_faults(params: Params) -> Iterator[Fault]:
    """Yield why the profile does not fit the paper of a selected variant: its recipe would be that of other tasks."""
    for name in params.get("variants"):
        paper = params.papers.get(params.get("catalog", params.whole(name), "paper"))
        if paper and paper.profile and paper.profile != params.get("profile"):
            message = f"{name} is trained with profile {paper.profile} alone, got {params.get('profile')}"
            yield Fault(("profile",), f"{message}; `mtbert study FOLDER` sets it")
            return


def _faults_of_pretraining(params: Params, shared: dict[str, Any]) -> Iterator[Fault]:
    """Yield the corpora with folds that pretraining reads: all models start from it, whatever their fold."""
    for corpus in _pretraining(shared):
        if params.tasks[corpus].folds:
            fault = f"it reads {corpus}, which has folds: it would see the rows that are scored"
            yield Fault(("sbert",), f"{fault}; allowed: corpora without folds")


def _refuse(params: Params, faults: Iterable[Fault]) -> None:
    if all_faults := [*faults]:
        raise SettingsError(params.format_faults(all_faults))


def _catalog(
    params: Params, selected: dict[str, Any], encoder: EncoderSettings, all_overrides: Sequence[Override]
) -> dict[str, Any]:
    """Return what the report reads: keys at the top of params.yaml, the encoder, all variants, and all ensembles."""
    variants: dict[str, Any] = {}
    for name in params.get("catalog"):
        values = {dotted(override.place): override.value for override in all_overrides if name in override.files}
        part = params.get("catalog", name, "part")
        variants[name] = {
            **resolve.about(params, name),
            **({"part": part} if part else {}),
            "selected": name in selected,
            "overrides": values,
        }
    revision = {"revision": encoder.revision} if encoder.folder else {}
    return {
        **{key: params.get(key) for key in ("profile", "data_dir", "held_out", "seeds", "limit")},
        "tuned": _tuned(params, selected),
        "tasks": {name: tasks.dump_task(task) for name, task in params.tasks.items()},
        "encoder": {"name": encoder.display_name, "note": encoder.note, **revision},
        "variants": variants,
        "ensembles": {
            name: {**entry, "selected": _is_selected(entry, selected)}
            for name, entry in (params.get("ensembles") or {}).items()
        },
    }


def _is_selected(ensemble: dict[str, Any], selected: dict[str, Any]) -> bool:
    """Return whether an ensemble's members are selected; of one member a merge is that model, and is not."""
    members = ensemble["members"]
    return all(member in selected for member in members) and not (ensemble.get("merge") and len(members) == 1)


def _tuned(params: Params, selected: dict[str, Any]) -> dict[str, Any]:
    """Return `tuned` without the selected variants of which a stronger layer sets another rate."""
    entries = dict(params.get("tuned") or {})
    for name in entries.keys() & selected.keys():
        for phase in selected[name]["phases"]:
            rates = {key: rate for key, rate in (entries[name].get("training") or {}).items() if key in RATES}
            if any(not isinstance(rate, dict) and phase.get(key) != rate for key, rate in rates.items()):
                entries.pop(name, None)
                break
    return entries


def _splits(selected: dict[str, Any], shared: dict[str, Any]) -> list[list[str]]:
    """Return the splits that must exist: [task, split]."""
    needed: set[tuple[str, str]] = set()
    for variant in selected.values():
        for task in variant["tasks"]:
            needed |= {(task, "train"), (task, "dev")}
        for phase in variant["phases"]:
            needed |= {(entry, "train") for entry in phase["tasks"]}
    needed |= {(corpus, "train") for corpus in _pretraining(shared)}
    return [list(pair) for pair in sorted(needed)]


def _pretraining(shared: dict[str, Any]) -> list[str]:
    """Return the corpora whose train pretraining reads; none where no selected variant starts from it."""
    pretrain = dict(shared["pretrain"])
    return [*SbertSettings(**pretrain).corpora] if pretrain.pop("needed") else []


def _longest(selected: dict[str, Any]) -> dict[str, list[Any]]:
    """Return by task the limit that cuts most rows: whether a sequence holds a pair, and its most tokens."""
    limits: dict[str, list[Any]] = {}
    for variant in selected.values():
        settings = VariantSettings(**variant)
        for task in variant["tasks"]:
            limit = [not settings.model.is_apart(settings.described[task]), settings.model.max_tokens]
            limits[task] = min(limit, limits.get(task, limit), key=_cuts_most_first)
    return limits


def _cuts_most_first(limit: list[Any]) -> tuple[int, bool]:
    """Return a sort key of limits: fewer tokens first, and of as many those for both sentences of a pair."""
    is_pair, tokens = limit
    return tokens, not is_pair


def write(documents: Mapping[str, Any], out: Path) -> None:
    """Write each document to a file, in a new directory; the catalog in its own order, which the report keeps."""
    with files.new_directory(out) as directory:
        for name, document in documents.items():
            files.write_yaml(directory / f"{name}.yaml", document, in_order=name == "catalog")
        seals.seal(directory)
