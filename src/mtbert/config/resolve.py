"""Resolve one variant: merge the places that set it, choose its techniques, and check that all of it fits together.

A variant's file holds only what the variant uses.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from mtbert import tasks
from mtbert.config import checks, rates
from mtbert.config.params import OTHERS, Fault, Params, Place, at, dotted, faults_of, leaves
from mtbert.config.places import MergedSettings, merge, merge_variant, places_of
from mtbert.config.sections import SETTINGS
from mtbert.config.techniques import FILES_OF_ALL, NAMES, REGISTRIES, USES
from mtbert.learning.schedules import SCHEDULES
from mtbert.models.adapters import ADAPTERS, SIZED
from mtbert.models.encoder.architectures import read_config
from mtbert.models.heads import HEADS
from mtbert.pretrained import folders
from mtbert.pretrained.settings import SBERT, EncoderSettings, SbertSettings
from mtbert.provenance import code
from mtbert.registry import Choice
from mtbert.settings import Published
from mtbert.tasks import Task
from mtbert.variants.settings import TECHNIQUE_KEYS, VariantSettings


def variant(params: Params, name: str) -> tuple[dict[str, Any] | None, list[Fault]]:
    """Return what a variant's file holds, or None and the variant's faults."""
    if faults := [*_part_faults(params, name)]:
        return None, faults
    entry_facts = about(params, name)
    own_tasks: list[str] = entry_facts["tasks"]
    if missing := [task for task in own_tasks if task not in params.tasks]:
        message = f"it is of {', '.join(missing)}, but the data folder has {', '.join(params.tasks)}"
        return None, [Fault(("catalog", name, "tasks"), message)]
    settings = merge_variant(params, name)
    encoder = EncoderSettings(**settings.values.get("encoder", {}))
    model = _model(settings.values.get("model", {}), own_tasks)
    phases = [_phase(phase, own_tasks, model["adapter"]) for phase in settings.values["phases"]]
    names = [*dict.fromkeys(_names(model, phases))]
    techniques, section_faults = _choose(settings, names, encoder)
    entry = params.get("catalog", name)
    faults = [*section_faults, *_entry_faults(name, entry, names)]
    own = params.own_entry(name)
    overruled = entry if own.get("phases") is None else own  # phases of params.yaml may overrule what a paper sets
    faults += _overruled_by_phases(name, overruled, settings.values["phases"])
    for number, phase in enumerate(phases):
        phase_faults = _phase_faults(phase, own_tasks, params.tasks, model["adapter"], encoder)
        faults += settings.where_set(Fault(("phases", number, key), message) for key, message in phase_faults)
    if faults:
        return None, faults
    phases = [rates.with_rate(_put(phase, "training", techniques)) for phase in phases]
    trained_on = [task for phase in phases for task in phase["tasks"]]
    document = {
        **entry_facts,
        "variant": name,
        "profile": params.get("profile"),
        "model": _put(model, "model", techniques),
        "phases": phases,
        "run": _run(settings.values.get("run", {}), phases),
        "described": tasks.for_run(params.tasks, own_tasks, trained_on),
        "sources": _sources(techniques),
        "share": params.get("catalog", name, "part", "share") or 1.0,
        "teachers": params.get("catalog", name, "teachers") or [],
    }
    try:
        resolved = VariantSettings.model_validate(document)
    except ValidationError as error:
        return None, settings.where_set(faults_of(error))
    if faults := settings.where_set(checks.variant_faults(resolved, encoder)):
        return None, faults
    return resolved.model_dump(), []


def shared(params: Params, selected: dict[str, Any]) -> dict[str, Any]:
    """Return the files on the starting weights of the selected variants, by name."""
    sections = merge(params, places_of(params)).values
    run, encoder = sections.get("run", {}), sections.get("encoder", {})
    as_elsewhere = {key: run[key] for key in ("device", "precision", "threads") if key in run}  # as in trainings
    if "weights" in encoder:
        as_elsewhere["weights"] = encoder["weights"]
    is_needed = SBERT in {variant["model"]["encoder"] for variant in selected.values()}
    pretrain: dict[str, Any] = {"needed": is_needed}
    if is_needed:
        values = as_elsewhere | (at(sections, ("pretrain", SBERT)) or {})
        pretrain |= SbertSettings(**values).model_dump(mode="json")
    return {"encoder": EncoderSettings(**encoder).model_dump(), "pretrain": pretrain}


def about(params: Params, name: str) -> dict[str, Any]:
    """Return what the catalog says of a variant: its tasks, and the published rows that it is compared with."""
    entry = params.get("catalog", name)
    defaults = {**Published(row=name).model_dump(), "tasks": [*tasks.main(params.tasks)]}
    return defaults | {key: entry[key] for key in defaults if entry.get(key)}


def _choose(
    settings: MergedSettings, names: Sequence[str], encoder: EncoderSettings
) -> tuple[dict[str, Choice[Any]], list[Fault]]:
    """Return the techniques of these names with their sections, and the faults of these sections."""
    sections: dict[str, Any] = {}
    faults: list[Fault] = []
    for name in [*names, *(SIZED[name][0] for name in names if name in SIZED)]:
        try:
            sections[name] = SETTINGS[name,](**settings.values.get(name, {}))
        except ValidationError as error:
            faults += settings.where_set(faults_of(error, name))
    for name in SIZED.keys() & sections.keys():
        like, sized = SIZED[name]
        if like in sections:
            sections[name] = sized(sections[name], sections[like], *_sizes(encoder))
    return {name: Choice(name, section) for name, section in sections.items() if name in names}, faults


def _sizes(encoder: EncoderSettings) -> tuple[int, int]:
    """Return the encoder's width and number of layers; EncoderError where a folder does not tell."""
    if encoder.folder:
        folders.check_config(encoder.folder)
        _, config = read_config(encoder.folder)
        return config.hidden_size, config.num_hidden_layers
    return encoder.source.width or encoder.width, encoder.known_layers


def _model(values: dict[str, Any], own_tasks: Sequence[str]) -> dict[str, Any]:
    """Return section `model` with the head and the pooling of each task, and a name for each technique."""
    heads, pooling = values.get("heads") or {}, values.get("pooling") or {}
    return {
        "encoder": "base",
        "token_types": "zeros",
        **values,
        **{key: values.get(key) or registry.default for key, registry in TECHNIQUE_KEYS["model"].items()},
        "heads": {task: heads.get(task) or heads.get(OTHERS) or HEADS.default for task in own_tasks},
        "pooling": {task: pooling.get(task) or pooling.get(OTHERS) or "pooler" for task in own_tasks},
    }


def _phase(values: dict[str, Any], own_tasks: Sequence[str], adapter: str) -> dict[str, Any]:
    """Return section `training` of a phase with its tasks, a name for each technique, and no rate without effect."""
    parts = rates.trained_parts(values)
    useless = set[str]()
    if adapter == ADAPTERS.default or "adapters" not in parts:
        useless.add("adapter_rate")
    if parts <= rates.HEAD_PARTS or "heads" not in parts:  # heads alone have `learning_rate`
        useless.add("head_rate")
    return {
        **{key: value for key, value in values.items() if key not in useless},
        **{key: values.get(key) or registry.default for key, registry in TECHNIQUE_KEYS["training"].items()},
        "tasks": own_tasks if values.get("tasks") in (None, "all") else values["tasks"],
        "objectives": values.get("objectives") or [],
    }


def _names(model: dict[str, Any], phases: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the names of the techniques that a variant uses."""
    yield from (model[key] for key in TECHNIQUE_KEYS["model"])
    yield from model["heads"].values()
    for phase in phases:
        yield from (phase[key] for key in TECHNIQUE_KEYS["training"])
        yield from phase["objectives"]


def _put(values: dict[str, Any], section: str, techniques: dict[str, Choice[Any]]) -> dict[str, Any]:
    """Return a section with techniques in the place of their names."""
    put: dict[str, Any] = {key: techniques[values[key]] for key in TECHNIQUE_KEYS[section]}
    if section == "model":
        put["heads"] = {task: techniques[name] for task, name in values["heads"].items()}
    else:
        put["objectives"] = [techniques[name] for name in values["objectives"]]
    return values | put


def _run(values: dict[str, Any], phases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return section `run` with the rows that choose: all of dev is scored where nothing is chosen on it."""
    is_watched = any(SCHEDULES.build(phase["schedule"]).needs_dev for phase in phases)
    return values | {"selection": "whole"} if values.get("keep") == "last" and not is_watched else values


def _sources(techniques: dict[str, Choice[Any]]) -> dict[str, str]:
    """Return the digests of the files that the variant's techniques use, by name."""
    digests: dict[str, str] = {}
    for registry in REGISTRIES:
        for name in registry.keys() & techniques.keys():
            digests |= code.of_technique(registry[name].source, FILES_OF_ALL)
    return dict(sorted(digests.items()))


def _part_faults(params: Params, name: str) -> Iterator[Fault]:
    """Yield why a variant cannot be part of another one."""
    whole = params.whole(name)
    if whole == name:
        if params.get("catalog", name, "part"):
            yield Fault(("catalog", name, "part", "of"), "it is the variant itself; allowed: another variant")
        return
    if params.whole(whole) != whole:
        message = f"{whole} is itself part of {params.whole(whole)}; allowed: a variant that reads all rows"
        yield Fault(("catalog", name, "part", "of"), message)
    if params.get("catalog", whole, "teachers"):
        message = f"{whole} learns from teachers, which have read all rows; allowed: a variant without teachers"
        yield Fault(("catalog", name, "part", "of"), message)
    if params.get("catalog", whole, "phases") == []:
        yield Fault(("catalog", name, "part", "of"), f"{whole} is not trained; allowed: a variant that is")
    for key in params.own_entry(name).keys() - {"part"}:
        message = f"a part is trained as {whole} is; allowed beside `part`: nothing"
        yield Fault(("catalog", name, key), message)


def _entry_faults(name: str, entry: dict[str, Any], names: Collection[str]) -> Iterator[Fault]:
    """Yield the faults of a variant's entry in itself; `names` are those of the techniques that the variant uses."""
    place: Place = ("catalog", name)
    set_by: dict[Place, str] = {}  # by the key that a name in `uses` sets
    for number, technique in enumerate(entry.get("uses") or []):
        key = USES[technique]
        if key == ("training", "objectives"):  # a phase may have several
            continue
        if key in set_by:
            message = f"{technique!r} would take the place of {set_by[key]!r}; allowed: one {dotted(key)}"
            yield Fault((*place, "uses", number), message)
        value = at(entry, key)
        if value not in (None, technique):
            message = f"{technique!r} would take the place of {dotted(key)}: {value}; allowed: one of the two"
            yield Fault((*place, "uses", number), message)
        set_by[key] = technique
    for section in entry:
        if section in NAMES and section not in names:
            allowed = ", ".join(sorted(names))
            message = f"the variant does not use {section}; add it to `uses`, or allowed here: {allowed}"
            yield Fault((*place, section), message)
    if entry.get("phases") == [] and entry.get("training"):
        message = "the variant has no phases, so nothing of this has an effect; allowed: this or `phases: []`"
        yield Fault((*place, "training"), message)


def _overruled_by_phases(name: str, entry: dict[str, Any], phases: Sequence[dict[str, Any]]) -> Iterator[Fault]:
    """Yield what a variant's entry sets of section `training`, by `uses` or by itself, and no phase has.

    `phases` are the phases as they are merged.
    """
    place: Place = ("catalog", name)
    allowed = "allowed: a phase without its own, or leave this out"
    for number, technique in enumerate(entry.get("uses") or []):
        section, key = USES[technique]
        if section == "training" and not any(_trains_with(phase, key, technique) for phase in phases):
            message = f"no phase trains with {technique!r}: each of `phases` sets its {key}; {allowed}"
            yield Fault((*place, "uses", number), message if phases else "the variant has no phases; leave this out")
    for keys, value in leaves((), entry.get("training") or {}):
        if phases and not any(_has(phase, keys, value) for phase in phases):
            message = f"no phase has {value!r:.80}: each of `phases` sets its own; {allowed}"
            yield Fault((*place, "training", *keys), message)


def _trains_with(phase: dict[str, Any], key: str, technique: str) -> bool:
    names = phase.get(key)
    return technique in names if isinstance(names, list) else technique == names


def _has(phase: dict[str, Any], keys: Place, value: Any) -> bool:
    """Return whether a phase has a value at these keys of section `training`."""
    there = at(phase, keys)
    if isinstance(there, dict):  # one rate became `others` below rates by kind
        there = there.get(OTHERS)
    if keys == ("objectives",):  # to which `uses` adds
        return {*value} <= {*(there or [])}
    return there == value


def _phase_faults(
    phase: dict[str, Any], own_tasks: Sequence[str], known: Mapping[str, Task], adapter: str, encoder: EncoderSettings
) -> Iterator[tuple[str, str]]:
    """Yield by key why a phase trains neither the variant's tasks nor corpora that serve them, or not these parts."""
    if unfit := [entry for entry in phase["tasks"] if entry not in known or known[entry].trains not in own_tasks]:
        yield "tasks", f"{', '.join(unfit)}: trains none of the variant's tasks, {', '.join(own_tasks)}"
    if not rates.trained_parts(phase):
        yield "frozen", "frozen holds all of trainable, so nothing would be trained; allowed: fewer parts"
    for key in ("trainable", "frozen"):
        for part in phase.get(key) or []:
            layer = part.removeprefix("layer_")
            if encoder.known_layers and layer.isdigit() and int(layer) > encoder.known_layers:
                yield key, f"{part}: the encoder has {encoder.known_layers} layers"
    if phase.get("trainable") == ["adapters"] and adapter == ADAPTERS.default:
        yield "trainable", "adapters alone are trained, but the variant has no adapter"
