"""One variant, resolved: sections, then the paper's preset, then the profile, then the variant's own overrides.

Each layer replaces single values of those before. What a variant does not use never reaches its file.
"""

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pydantic
import torch

import mtbert
from mtbert import files
from mtbert.adapters import ADAPTERS
from mtbert.connectors import CONNECTORS
from mtbert.encoder.sources import PRETRAININGS
from mtbert.errors import SettingsError, faults
from mtbert.features import FEATURES
from mtbert.gradients import GRADIENTS
from mtbert.heads import HEADS
from mtbert.objectives import OBJECTIVES
from mtbert.plan.params import Fault, Params, Place
from mtbert.plan.techniques import NAMES, REGISTRIES
from mtbert.registry import Registry
from mtbert.samplers import SAMPLERS
from mtbert.schedules import SCHEDULES
from mtbert.settings import VariantSettings
from mtbert.tasks import TASKS, served
from mtbert.weightings import WEIGHTINGS

COLLECTIONS = ("presets", "profiles", "catalog", "ensembles")
COMMON = ("run", "model", "training")  # sections that every variant uses
ENTRY = ("paper", "row", "also", "preset", "uses", "tasks", "phases")  # what a catalog entry holds beside overrides
MAIN_TASKS = ["sst", "qqp", "sts"]


def _layers(params: Params, variant: str | None = None) -> list[Place]:
    """Places that give values, the strongest last."""
    profile: Place = ("profiles", str(params.get("profile")))
    if variant is None:
        return [(), profile]
    preset = params.get("catalog", variant, "preset") or params.get("catalog", variant, "paper")
    return [(), ("presets", str(preset)), profile, ("catalog", variant)]


def merged(params: Params, section: str, variant: str | None = None) -> dict[str, Any]:
    """A section after all layers; without a variant, after the profile."""
    result: dict[str, Any] = {}
    for layer in _layers(params, variant):
        result = _over(result, params.get(*layer, section) or {})
    return result


def _over(base: Any, top: Any) -> Any:
    """`top` laid over `base`: mappings are merged, everything else is replaced."""
    if not (isinstance(base, dict) and isinstance(top, dict)):
        return copy.deepcopy(top)
    return {**base, **{key: _over(base.get(key), value) for key, value in top.items()}}


def origin(params: Params, place: Place, variant: str | None = None) -> Place | None:
    """Where the value that counts was set, if it was."""
    layers = reversed(_layers(params, variant))
    return next(((*layer, *place) for layer in layers if params.get(*layer, *place) is not None), None)


def variant(params: Params, name: str) -> tuple[dict[str, Any], list[Fault]]:
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
        phases = [_over(training, phase) for phase in self.entry.get("phases", [{}])]
        document = {
            "variant": self.name,
            "paper": self.entry.get("paper"),
            "row": self.entry.get("row", self.name),
            "also": self.entry.get("also", []),
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
        return merged(self.params, section, self.name)

    def _use(self, model: dict[str, Any], training: dict[str, Any]) -> None:
        """What `uses` is short for."""
        put: dict[str, Callable[[str], None]] = {
            FEATURES.kind: lambda name: model.update(features=name),
            ADAPTERS.kind: lambda name: model.update(adapter=name),
            CONNECTORS.kind: lambda name: model.update(connector=name),
            OBJECTIVES.kind: lambda name: training.update(objectives=[*(training.get("objectives") or []), name]),
            SAMPLERS.kind: lambda name: training.update(sampler=name),
            WEIGHTINGS.kind: lambda name: training.update(weighting=name),
            GRADIENTS.kind: lambda name: training.update(gradients=name),
            SCHEDULES.kind: lambda name: training.update(schedule=name),
            "pretraining": lambda name: model.update(encoder=name),
        }
        chosen: dict[str, str] = {}  # of each kind of which a variant has one
        for number, name in enumerate(self.entry.get("uses") or []):
            place = ("catalog", self.name, "uses", number)
            kinds = (registry.kind for registry in REGISTRIES if name in registry and registry.kind in put)
            kind = "pretraining" if name in PRETRAININGS else next(kinds, None)
            if kind is None:
                usable = [n for registry in REGISTRIES if registry.kind in put for n in registry]
                known = ", ".join([*usable, *PRETRAININGS])
                self._fault(place, f"unknown technique {name!r}; known: {known}")
            elif kind in chosen:
                self._fault(place, f"{name!r} would take the place of {chosen[kind]!r}; allowed: one {kind}")
            elif name in (training.get("objectives") or []):
                self._fault(place, f"{name!r} is in training.objectives already; allowed: each once")
            else:
                put[kind](name)
                if kind != OBJECTIVES.kind:
                    chosen[kind] = name

    def _model(self, model: dict[str, Any], tasks: list[str]) -> dict[str, Any]:
        heads = {t: h for t, h in (model.get("heads") or {}).items() if t in tasks}
        pooling = {t: p for t, p in (model.get("pooling") or {}).items() if t in tasks}
        for task in tasks:
            for key, given in (("heads", heads), ("pooling", pooling)):
                if task in TASKS and task not in given:
                    self._fault(("model", key), f"task {task} of variant {self.name} has none")
        resolved = {
            **model,
            "features": self._choice(FEATURES, model.get("features"), ("model", "features")),
            "adapter": self._choice(ADAPTERS, model.get("adapter"), ("model", "adapter")),
            "connector": self._choice(CONNECTORS, model.get("connector"), ("model", "connector")),
            "heads": {task: self._choice(HEADS, head, ("model", "heads", task)) for task, head in heads.items()},
            "pooling": pooling,
        }
        if model.get("encoder") not in ("base", *PRETRAININGS):
            known = ", ".join(["base", *PRETRAININGS])
            self._fault(("model", "encoder"), f"unknown starting weights {model.get('encoder')!r}; known: {known}")
        if not self.faults:
            self._build_heads(resolved)
            self._build_connector(resolved, tasks)
        return resolved

    def _build_heads(self, model: dict[str, Any]) -> None:
        """A head says itself what it cannot serve; a narrow one without weights is built to ask it."""
        for task, head in model["heads"].items():
            if task not in TASKS:
                continue
            embeddings = 2 if TASKS[task].is_pair and model.get("pair_encoding") == "bi" else 1
            try:
                with torch.device("meta"):
                    HEADS.build(head, TASKS[task], 2, embeddings)
            except SettingsError as error:
                self._fault(("model", "heads", task), str(error))

    def _build_connector(self, model: dict[str, Any], tasks: list[str]) -> None:
        """A connector too; without weights, and of a width that all usual numbers of attention heads divide."""
        try:
            with torch.device("meta"):
                CONNECTORS.build(model["connector"], 5040, tasks)
        except SettingsError as error:
            self._fault(("model", "connector"), str(error))

    def _phase(self, phase: dict[str, Any], tasks: list[str]) -> dict[str, Any]:
        objectives = phase.get("objectives") or []
        chosen = phase.get("tasks") or tasks
        for task in chosen:
            if served(task) not in tasks:
                self._fault(("training", "tasks"), f"{task!r} trains none of the variant's tasks, {', '.join(tasks)}")
        if "adapters" in (phase.get("trainable") or []) and phase["trainable"] == ["adapters"] and not self._adapts():
            self._fault(("training", "trainable"), "adapters alone are trained, but the variant has no adapter")
        self._fits(phase)
        return {
            **phase,
            "tasks": chosen,
            "sampler": self._choice(SAMPLERS, phase.get("sampler"), ("training", "sampler")),
            "objectives": [self._choice(OBJECTIVES, name, ("training", "objectives")) for name in objectives],
            "weighting": self._choice(WEIGHTINGS, phase.get("weighting"), ("training", "weighting")),
            "gradients": self._choice(GRADIENTS, phase.get("gradients"), ("training", "gradients")),
            "schedule": self._choice(SCHEDULES, phase.get("schedule"), ("training", "schedule")),
        }

    def _fits(self, phase: dict[str, Any]) -> None:
        """A rule for several tasks a step would do nothing, silently, where a step holds one."""
        rule, sampler = str(phase.get("gradients")), str(phase.get("sampler"))
        if rule not in GRADIENTS or not _several(GRADIENTS, rule):
            return
        fitting = [name for name in SAMPLERS if _several(SAMPLERS, name)]
        if sampler not in fitting:
            self._fault(
                ("training", "gradients"),
                f"{rule} acts where a step holds several tasks, but the steps of sampler {sampler} hold one; allowed "
                f"with it: {', '.join(fitting)}",
            )

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
        package = Path(mtbert.__file__).parent
        used = (registry[name] for registry in REGISTRIES for name in registry if name in self.used)
        found = {file for technique in used for file in technique.sources}
        return {file.relative_to(package).as_posix(): files.sha256(file) for file in sorted(found)}

    def _unused(self) -> None:
        """Overrides of what the variant does not use would pass silently."""
        for key in self.entry:
            if key in ENTRY or key in COMMON or key in self.used:
                continue
            known = key in NAMES
            meant = f"the variant does not use {key}; add it to `uses`, or" if known else "unknown key;"
            allowed = ", ".join([*ENTRY, *COMMON, *sorted(self.used)])
            self._fault(("catalog", self.name, key), f"{meant} allowed here: {allowed}")

    def _fault(self, place: Place, message: str) -> None:
        self.faults.append(Fault(self._origin(place), message))

    def _origin(self, place: Place) -> Place:
        if place[0] in COLLECTIONS:
            return place
        return origin(self.params, place, self.name) or ("catalog", self.name, *place)

    def located(self, error: pydantic.ValidationError, *section: str) -> list[Fault]:
        """The faults that pydantic found, each where its value was set."""
        found = []
        for keys, said in faults(error):
            if keys[:1] == ("phases",):  # every phase starts from `training`
                keys = ("training", *keys[2:])
            found.append(Fault(self._origin((*section, *keys)), said))
        return found


def _several(registry: Registry[Any], name: str) -> bool:
    """Whether a technique gives, or is for, steps that hold several tasks."""
    build: Any = registry[name].build
    return build.several_tasks
