"""params.yaml to one resolved, checked settings file per variant.

Sections, then the paper's preset, then the profile, then the variant's own overrides: each layer replaces single values
of those before. What a variant does not use never reaches its file, so that DVC trains again exactly what a change
concerns. Every variant of the catalog is checked before anything trains, and all faults are told at once.
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic
from pydantic import TypeAdapter
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mtbert import files
from mtbert.adapters import ADAPTERS
from mtbert.encoder.sources import SOURCES, EncoderSettings, SbertSettings
from mtbert.errors import SettingsError, faults
from mtbert.gradients import GRADIENTS
from mtbert.heads import HEADS
from mtbert.objectives import OBJECTIVES
from mtbert.registry import Registry
from mtbert.samplers import SAMPLERS
from mtbert.settings import Name, VariantSettings
from mtbert.tasks import TASKS
from mtbert.training.schedules import SCHEDULES

REGISTRIES: tuple[Registry[Any], ...] = (ADAPTERS, HEADS, SAMPLERS, OBJECTIVES, GRADIENTS, SCHEDULES)
PRETRAININGS = {"sbert": SbertSettings}

KNOBS = ("profile", "data_dir", "seeds", "variants")
COMMON = ("run", "model", "training", "encoder", "pretrain")
COLLECTIONS = ("presets", "profiles", "catalog", "ensembles")
ENTRY = ("paper", "row", "uses", "tasks", "phases")  # what a catalog entry holds beside overrides
MAIN_TASKS = ["sst", "qqp", "sts"]


Place = tuple[str | int, ...]  # the keys that lead to a value


@dataclass(frozen=True)
class Fault:
    """Something wrong in params.yaml: where (a dotted path), and what."""

    place: Place
    message: str


class Params:
    """params.yaml as it was read, with the line of every value."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self.tree = YAML(typ="rt").load(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsError(f"{file} is missing; stage scripts run at the repository's root") from None
        except (YAMLError, UnicodeDecodeError) as error:
            raise SettingsError(f"{file} is not readable YAML: {error}") from None
        if not isinstance(self.tree, dict):
            raise SettingsError(f"{file} has to hold sections, but holds {type(self.tree).__name__}")
        self.values: dict[str, Any] = _plain(self.tree)

    def get(self, *place: str | int) -> Any:
        """The value at a place, or None."""
        return _at(self.values, place)

    def line(self, place: Iterable[str | int]) -> int:
        """The line of a place, or of as much of it as is there; counted from 1."""
        node: Any = self.tree
        line = 1
        for key in place:
            try:
                places: Any = node.lc  # ruamel's, on every mapping and list, though its types do not tell
                line = (places.key(key) if isinstance(node, dict) else places.item(key))[0] + 1
                node = node[key]
            except (KeyError, IndexError, TypeError, AttributeError):
                break
        return line

    def told(self, faults: Iterable[Fault]) -> str:
        """All faults in one message, by line."""
        lines = sorted({(self.line(f.place), ".".join(map(str, f.place)), f.message) for f in faults})
        shown = "\n".join(f"  {self.file}:{line}: {place}: {message}" for line, place, message in lines)
        return f"{len(lines)} fault{'s' if len(lines) > 1 else ''} in the settings; nothing was trained\n{shown}"


@dataclass(frozen=True)
class Planned:
    """Everything that `write` puts down, by file name."""

    documents: dict[str, Any]


def plan(params: Params) -> Planned:
    """Resolve and check everything; SettingsError with all faults."""
    wrong = [*_top_level(params), *_sections(params)]
    variants: dict[str, dict[str, Any]] = {}
    for name in params.get("catalog") or {}:
        resolved, found = _variant(params, name)
        wrong += found
        variants[name] = resolved
    wrong += [*_selection(params), *_ensembles(params)]
    if wrong:
        raise SettingsError(params.told(wrong))
    return Planned(_documents(params, variants))


def write(planned: Planned, out: Path) -> None:
    """One file a document, in a new directory."""
    with files.new_directory(out) as directory:
        for name, document in planned.documents.items():
            files.write_yaml(directory / f"{name}.yaml", document)


# --- resolving -------------------------------------------------------------------------------------------------------


def _layers(params: Params, variant: str | None = None) -> list[Place]:
    """Places that give values, the strongest last."""
    profile: Place = ("profiles", str(params.get("profile")))
    if variant is None:
        return [(), profile]
    return [(), ("presets", str(params.get("catalog", variant, "paper"))), profile, ("catalog", variant)]


def _merged(params: Params, section: str, variant: str | None = None) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for layer in _layers(params, variant):
        result = _over(result, params.get(*layer, section) or {})
    return result


def _over(base: Any, top: Any) -> Any:
    """`top` laid over `base`: mappings are merged, everything else is replaced."""
    if not (isinstance(base, dict) and isinstance(top, dict)):
        return copy.deepcopy(top)
    return {**base, **{key: _over(base.get(key), value) for key, value in top.items()}}


def _origin(params: Params, place: Place, variant: str | None = None) -> Place | None:
    """Where the value that counts was set, if it was."""
    layers = reversed(_layers(params, variant))
    return next(((*layer, *place) for layer in layers if params.get(*layer, *place) is not None), None)


def _variant(params: Params, name: str) -> tuple[dict[str, Any], list[Fault]]:
    """One variant, resolved, and its faults."""
    entry = params.get("catalog", name)
    if not isinstance(entry, dict):
        return {}, [Fault(("catalog", name), "a variant has to be a mapping with `paper` and `row`")]
    resolver = _Resolver(params, name, entry)
    try:
        return resolver.resolve(), resolver.faults
    except pydantic.ValidationError as error:
        return {}, [*resolver.faults, *resolver.located(error)]


class _Resolver:
    """Resolves one variant and notes its faults."""

    def __init__(self, params: Params, name: str, entry: Mapping[str, Any]) -> None:
        self.params = params
        self.name = name
        self.entry = entry
        self.used: set[str] = set()
        self.faults: list[Fault] = []

    def resolve(self) -> dict[str, Any]:
        """The content of the variant's file."""
        tasks = self.entry.get("tasks") or MAIN_TASKS
        model, training = self._section("model"), self._section("training")
        self._use(model, training)
        phases = [_over(training, phase) for phase in self.entry.get("phases") or [{}]]
        document = {
            "variant": self.name,
            "paper": self.entry.get("paper"),
            "row": self.entry.get("row"),
            "profile": self.params.get("profile"),
            "tasks": tasks,
            "model": self._model(model, tasks),
            "phases": [self._phase(phase, tasks) for phase in phases],
            "run": self._section("run"),
        }
        document["sources"] = self._sources()
        self._unused()
        return VariantSettings(**document).model_dump()

    def _section(self, section: str) -> dict[str, Any]:
        return _merged(self.params, section, self.name)

    def _use(self, model: dict[str, Any], training: dict[str, Any]) -> None:
        """What `uses` is short for."""
        put: dict[str, Callable[[str], None]] = {
            ADAPTERS.kind: lambda name: model.update(adapter=name),
            OBJECTIVES.kind: lambda name: training.update(objectives=[*training.get("objectives", []), name]),
            SAMPLERS.kind: lambda name: training.update(sampler=name),
            GRADIENTS.kind: lambda name: training.update(gradients=name),
            SCHEDULES.kind: lambda name: training.update(schedule=name),
        }
        for number, name in enumerate(self.entry.get("uses") or []):
            kind = next((registry.kind for registry in REGISTRIES if name in registry and registry.kind in put), None)
            if name in PRETRAININGS:
                model["encoder"] = name
            elif kind:
                put[kind](name)
            else:
                usable = [n for registry in REGISTRIES if registry.kind in put for n in registry]
                self._fault(("catalog", self.name, "uses", number), f"unknown technique {name!r}; "
                            f"known: {', '.join([*usable, *PRETRAININGS])}")  # fmt: skip

    def _model(self, model: dict[str, Any], tasks: list[str]) -> dict[str, Any]:
        heads = {t: h for t, h in (model.get("heads") or {}).items() if t in tasks}
        pooling = {t: p for t, p in (model.get("pooling") or {}).items() if t in tasks}
        for task in tasks:
            for key, given in (("heads", heads), ("pooling", pooling)):
                if task in TASKS and task not in given:
                    self._fault(("model", key), f"task {task} of variant {self.name} has none")
        resolved = {
            **model,
            "adapter": self._choice(ADAPTERS, model.get("adapter"), ("model", "adapter")),
            "heads": {task: self._choice(HEADS, head, ("model", "heads", task)) for task, head in heads.items()},
            "pooling": pooling,
        }
        if not self.faults:
            self._build_heads(resolved)
        return resolved

    def _build_heads(self, model: dict[str, Any]) -> None:
        """A head says itself what it cannot serve; a narrow one is built to ask it."""
        for task, head in model["heads"].items():
            if task not in TASKS:
                continue
            embeddings = 2 if TASKS[task].is_pair and model.get("pair_encoding") == "bi" else 1
            try:
                HEADS.build(head, TASKS[task], 2, embeddings)
            except SettingsError as error:
                self._fault(("model", "heads", task), str(error))

    def _phase(self, phase: dict[str, Any], tasks: list[str]) -> dict[str, Any]:
        objectives = phase.get("objectives") or []
        chosen = phase.get("tasks") or tasks
        for task in chosen:
            if task not in tasks:
                self._fault(("training", "tasks"), f"{task!r} is none of the variant's tasks, {', '.join(tasks)}")
        if "adapters" in (phase.get("trainable") or []) and phase["trainable"] == ["adapters"] and not self._adapts():
            self._fault(("training", "trainable"), "adapters alone are trained, but the variant has no adapter")
        return {
            **phase,
            "tasks": chosen,
            "sampler": self._choice(SAMPLERS, phase.get("sampler"), ("training", "sampler")),
            "objectives": [self._choice(OBJECTIVES, name, ("training", "objectives")) for name in objectives],
            "gradients": self._choice(GRADIENTS, phase.get("gradients"), ("training", "gradients")),
            "schedule": self._choice(SCHEDULES, phase.get("schedule"), ("training", "schedule")),
        }

    def _adapts(self) -> bool:
        return bool(self.used & (set(ADAPTERS) - {"none"}))

    def _choice(self, registry: Registry[Any], name: Any, place: tuple[str, ...]) -> dict[str, Any]:
        """A technique's name with its section's values."""
        if not isinstance(name, str) or name not in registry:
            known = ", ".join(registry)
            self._fault(place, f"unknown {registry.kind} {name!r}; known: {known}")
            return {"name": name}
        self.used.add(name)
        section = self._section(name)
        try:
            return {"name": name, **registry[name].settings(**section).model_dump()}
        except pydantic.ValidationError as error:
            self.faults += self.located(error, name)
            return {"name": name}

    def _sources(self) -> dict[str, str]:
        package = Path(__file__).parent
        found = {registry[name].source for registry in REGISTRIES for name in registry if name in self.used}
        return {file.relative_to(package).as_posix(): files.sha256(file) for file in sorted(found)}

    def _unused(self) -> None:
        """Overrides of what the variant does not use would pass silently."""
        for key in self.entry:
            if key in ENTRY or key in ("run", "model", "training") or key in self.used:
                continue
            known = any(key in registry for registry in REGISTRIES)
            meant = f"the variant does not use {key}; add it to `uses`, or" if known else "unknown key;"
            allowed = ", ".join([*ENTRY, "run", "model", "training", *sorted(self.used)])
            self._fault(("catalog", self.name, key), f"{meant} allowed here: {allowed}")

    def _fault(self, place: Place, message: str) -> None:
        self.faults.append(Fault(self._origin(place), message))

    def _origin(self, place: Place) -> Place:
        if place[0] in COLLECTIONS:
            return place
        return _origin(self.params, place, self.name) or ("catalog", self.name, *place)

    def located(self, error: pydantic.ValidationError, *section: str) -> list[Fault]:
        """The faults that pydantic found, each where its value was set."""
        found = []
        for keys, said in faults(error):
            if keys[:1] == ("phases",):  # every phase starts from `training`
                keys = ("training", *keys[2:])
            found.append(Fault(self._origin((*section, *keys)), said))
        return found


# --- checking --------------------------------------------------------------------------------------------------------


def _top_level(params: Params) -> list[Fault]:
    techniques = [name for registry in REGISTRIES for name in registry]
    allowed = [*KNOBS, *COMMON, *COLLECTIONS, *techniques]
    unknown = f"unknown section; allowed: {', '.join(allowed)}"
    found = [Fault((key,), unknown) for key in params.values if key not in allowed]
    for collection in ("presets", "profiles"):
        for name, sections in (params.get(collection) or {}).items():
            places = ((collection, name, key) for key in sections or {})
            found += [Fault(place, unknown) for place in places if place[2] not in (*COMMON, *techniques)]
    if params.get("profile") not in (params.get("profiles") or {}):
        known = ", ".join(params.get("profiles") or {})
        found.append(Fault(("profile",), f"unknown profile {params.get('profile')!r}; known: {known}"))
    return found


def _sections(params: Params) -> list[Fault]:
    """Every section by itself, also where no variant uses it."""
    typed: dict[tuple[str, ...], type] = {("encoder",): EncoderSettings}
    typed |= {("pretrain", name): settings for name, settings in PRETRAININGS.items()}
    typed |= {(name,): registry[name].settings for registry in REGISTRIES for name in registry}
    found = []
    for place, settings in typed.items():
        try:
            settings(**_at(_merged(params, place[0]), place[1:]) or {})
        except pydantic.ValidationError as error:
            places = [((*place, *keys), said) for keys, said in faults(error)]
            found += [Fault(_origin(params, where) or where, said) for where, said in places]
    return found


def _selection(params: Params) -> list[Fault]:
    """The knobs `variants` and `seeds`."""
    catalog = params.get("catalog") or {}
    found = []
    for key, kind in (("variants", list[Name]), ("seeds", list[pydantic.NonNegativeInt])):
        chosen = params.get(key)
        try:
            TypeAdapter(kind).validate_python(chosen, strict=True)
        except pydantic.ValidationError as error:
            found += [Fault((key, *keys), said) for keys, said in faults(error)]
            continue
        if not chosen:
            found.append(Fault((key,), "needs one entry at least"))
        found += [Fault((key, n), f"{v!r} is listed twice") for n, v in enumerate(chosen) if v in chosen[:n]]
    there = f"is not in the catalog; there are: {', '.join(catalog)}"
    for number, name in enumerate(params.get("variants") or []):
        if name not in catalog:
            found.append(Fault(("variants", number), f"{name!r} {there}"))
    return found


def _ensembles(params: Params) -> list[Fault]:
    catalog = params.get("catalog") or {}
    found = []
    for name, entry in (params.get("ensembles") or {}).items():
        place = ("ensembles", name)
        if set(entry) != {"paper", "row", "members"}:
            found.append(Fault(place, f"has {', '.join(entry)}; needs exactly paper, row and members"))
            continue
        if name in catalog:
            found.append(Fault(place, "a variant has the same name"))
        found += [
            Fault((*place, "members", number), f"{member!r} is not in the catalog; there are: {', '.join(catalog)}")
            for number, member in enumerate(entry["members"])
            if member not in catalog
        ]
    return found


# --- what is written -------------------------------------------------------------------------------------------------


def _documents(params: Params, variants: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """File name to content: one a selected variant, and what the other stages need to know."""
    selected = params.get("variants")
    encoder = EncoderSettings(**_merged(params, "encoder"))
    pretrainings = {name: _pretraining(params, name, [variants[v] for v in selected]) for name in PRETRAININGS}
    documents: dict[str, Any] = {name: variants[name] for name in selected}
    documents |= {f"pretrain-{name}": settings for name, settings in pretrainings.items()}
    documents["encoder"] = encoder.model_dump()
    documents["needs"] = _needs([variants[name] for name in selected], pretrainings)
    documents["catalog"] = {
        "profile": params.get("profile"),
        "data_dir": params.get("data_dir"),
        "seeds": params.get("seeds"),
        "keep": _merged(params, "run").get("keep", "last"),
        "encoder": {"name": encoder.name, "note": SOURCES[encoder.name].note},
        "variants": {
            name: {**{key: variant[key] for key in ("paper", "row", "tasks")}, "selected": name in selected}
            for name, variant in variants.items()
        },
        "ensembles": {
            name: {**entry, "selected": all(member in selected for member in entry["members"])}
            for name, entry in (params.get("ensembles") or {}).items()
        },
    }
    return documents


def _pretraining(params: Params, name: str, selected: list[dict[str, Any]]) -> dict[str, Any]:
    """A pretraining's settings, or that nothing selected starts from it."""
    if not any(variant["model"]["encoder"] == name for variant in selected):
        return {"needed": False}
    run = _merged(params, "run")
    where = {key: run[key] for key in ("device", "precision") if key in run}  # the machine is one and the same
    settings = PRETRAININGS[name](**{**where, **_merged(params, "pretrain")[name]})
    return {"needed": True, **settings.model_dump(mode="json")}


def _needs(selected: list[dict[str, Any]], pretrainings: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Which splits have to be there: [task, split]."""
    needs = {(task, split) for variant in selected for task in variant["tasks"] for split in ("train", "dev")}
    for settings in pretrainings.values():
        needs |= {(corpus, "train") for corpus in settings.get("corpora", ())}
        needs |= {("sts", "dev")} if settings["needed"] else set()
    return [list(need) for need in sorted(needs)]


# --- plain values ----------------------------------------------------------------------------------------------------


def _plain(node: Any) -> Any:
    """ruamel's nodes, which remember their lines, as plain values."""
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    for kind in (bool, int, float, str):  # bool first: it is an int too
        if isinstance(node, kind):
            return kind(node)
    return node


def _at(node: Any, place: Iterable[str | int]) -> Any:
    for key in place:
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list) and isinstance(key, int) and key < len(node):
            node = node[key]
        else:
            return None
    return node
