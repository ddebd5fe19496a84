"""Resolve one variant: merge what all layers set for it, and check it.

A variant's file holds only what the variant uses.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pydantic

from mtbert.adapters import ADAPTERS
from mtbert.connectors import CONNECTORS
from mtbert.errors import SettingsError, faults
from mtbert.gradients import GRADIENTS
from mtbert.heads import HEADS
from mtbert.model import check_apart
from mtbert.objectives import OBJECTIVES
from mtbert.plan import code, rates
from mtbert.plan.departures import blamed
from mtbert.plan.layers import COLLECTIONS, COMMON, ENTRY, merged, over
from mtbert.plan.params import Fault, Params, Place
from mtbert.plan.techniques import PLACES, REGISTRIES, place_of
from mtbert.pretraining.settings import EncoderSettings
from mtbert.registry import Registry
from mtbert.samplers import SAMPLERS
from mtbert.schedules import SCHEDULES
from mtbert.settings import Entry, VariantSettings
from mtbert.tasks import TASKS, served
from mtbert.weightings import WEIGHTINGS

MAIN_TASKS = ["sst", "qqp", "sts"]


def variant(params: Params, name: str) -> tuple[dict[str, Any], list[Fault]]:
    """Resolve one variant; return it and its faults."""
    entry = params.get("catalog", name)
    if not isinstance(entry, dict):
        return {}, [Fault(("catalog", name), "a variant has to be a mapping with `paper` and `row`")]
    resolver = _Resolver(params, name, entry)
    try:
        return resolver.resolve(), resolver.faults
    except pydantic.ValidationError as error:
        return {}, [*resolver.faults, *resolver.located(error)]


class _Resolver:
    """Resolves one variant and collects its faults."""

    def __init__(self, params: Params, name: str, entry: Mapping[str, Any]) -> None:
        self.params = params
        self.name = name
        self.keys = [*entry]
        self.entry = Entry(**{key: entry[key] for key in ENTRY if key in entry})
        self.used: set[str] = set()
        self.faults: list[Fault] = []

    def resolve(self) -> dict[str, Any]:
        """Return the content of the variant's file."""
        tasks = self.entry.tasks or MAIN_TASKS
        model, training = self._section("model"), self._section("training")
        self._use(model, training)
        phases = [over(training, phase) for phase in self.entry.phases]
        document = {
            "variant": self.name,
            "paper": self.entry.paper,
            "row": self.entry.row or self.name,
            "also": self.entry.also,
            "rival": self.entry.rival,
            "profile": self.params.get("profile"),
            "tasks": tasks,
            "model": self._model(model, tasks),
            "phases": [self._phase(phase, tasks) for phase in phases],
            "run": self._section("run"),
        }
        if not self.faults:
            self._check_together(document)
        document["sources"] = self._sources()
        self._unused()
        return VariantSettings(**document).model_dump()

    def _check_together(self, document: dict[str, Any]) -> None:
        """Check that model, phases and run fit each other."""
        for phase in document["phases"]:
            for task in sorted(set(map(served, phase["tasks"]))):
                name = document["model"]["heads"][task]["name"]
                if not _class(HEADS, name).learns:
                    message = (
                        f"{name} learns nothing, but {task} is trained; allowed with it: `phases: []` in the catalog"
                    )
                    self._fault(("model", "heads", task), message)
            if SCHEDULES.build(phase["schedule"]).needs_dev and not document["run"]["evaluations"]:
                message = f"{phase['schedule']['name']} needs dev scores, but run.evaluations is 0"
                self._fault(("training", "schedule"), message, ("run", "evaluations"))

    def _section(self, section: str) -> dict[str, Any]:
        return merged(self.params, section, self.name)

    def _use(self, model: dict[str, Any], training: dict[str, Any]) -> None:
        """Put the techniques that `uses` lists into their places."""
        sections = {"model": model, "training": training}
        chosen: dict[tuple[str, str], str] = {}  # for each place that holds one name
        for number, name in enumerate(self.entry.uses or []):
            if name in OBJECTIVES:
                self._use_objective(name, training)
                continue
            place = place_of(name)
            if place in chosen:
                message = f"{name!r} would take the place of {chosen[place]!r}; allowed: one {'.'.join(place)}"
                self._fault(("catalog", self.name, "uses", number), message)
            else:
                chosen[place] = sections[place[0]][place[1]] = name

    def _use_objective(self, name: str, training: dict[str, Any]) -> None:
        before = training.get("objectives") or []
        if name in before:
            message = f"variant {self.name} uses {name!r} already; allowed: each objective once"
            self._fault(("training", "objectives"), message)
        else:
            training["objectives"] = [*before, name]

    def _model(self, model: dict[str, Any], tasks: list[str]) -> dict[str, Any]:
        heads = {t: h for t, h in (model.get("heads") or {}).items() if t in tasks}
        pooling = {t: p for t, p in (model.get("pooling") or {}).items() if t in tasks}
        for task in tasks:
            for key, by_task in (("heads", heads), ("pooling", pooling)):
                if task not in by_task:
                    self._fault(("model", key), f"task {task} of variant {self.name} has none")
        resolved = {
            **model,
            **self._choices("model", model),
            "heads": {task: self._choice(HEADS, head, ("model", "heads", task)) for task, head in heads.items()},
            "pooling": pooling,
        }
        if not self.faults:
            self._check_connector_and_heads(resolved, tasks)
        return resolved

    def _check_connector_and_heads(self, model: dict[str, Any], tasks: list[str]) -> None:
        """Let connector and heads check whether they can serve the tasks."""
        name = model["connector"]["name"]
        connector, settings = _class(CONNECTORS, name), CONNECTORS.settings(model["connector"])
        places = [("model", "connector"), (name,), ("encoder", "width")]
        served = self._passes(places, connector.check, settings, tasks, self._width())
        mixed = connector.mixes(settings, tasks) if served else ()
        for task, choice in model["heads"].items():
            head, place = _class(HEADS, choice["name"]), ("model", "heads", task)
            embeddings = 2 if TASKS[task].is_pair and model.get("pair_encoding") == "bi" else 1
            arguments = HEADS.settings(choice), TASKS[task], embeddings
            if self._passes([place, ("model", "pair_encoding")], head.check, *arguments):
                self._passes([place, ("model", "connector")], check_apart, task, head, mixed)

    def _passes(self, places: Sequence[Place], check: Callable[..., None], *arguments: Any) -> bool:
        """Return whether a check passes; record a fault where it does not."""
        try:
            check(*arguments)
        except SettingsError as error:
            self._fault(places[0], str(error), *places[1:])
            return False
        return True

    def _width(self) -> int | None:
        try:
            return EncoderSettings(**merged(self.params, "encoder")).known_width
        except pydantic.ValidationError:  # reported as a fault of its section
            return None

    def _phase(self, phase: dict[str, Any], tasks: list[str]) -> dict[str, Any]:
        objectives = phase.get("objectives") or []
        chosen = tasks if phase.get("tasks") in (None, "all") else phase["tasks"]
        if strange := [task for task in chosen if served(task) not in tasks]:
            message = f"{', '.join(strange)}: trains none of the variant's tasks, {', '.join(tasks)}"
            self._fault(("training", "tasks"), message)
        if "adapters" in (phase.get("trainable") or []) and phase["trainable"] == ["adapters"] and not self._adapts():
            self._fault(("training", "trainable"), "adapters alone are trained, but the variant has no adapter")
        self._fits(phase)
        return {
            **rates.settled({**phase, **self._choices("training", phase)}),
            "tasks": chosen,
            "objectives": [self._choice(OBJECTIVES, name, ("training", "objectives")) for name in objectives],
        }

    def _fits(self, phase: dict[str, Any]) -> None:
        """Check that a technique for several tasks in a step has a sampler whose steps hold several."""
        sampler = str(phase.get("sampler"))
        fitting = [name for name in SAMPLERS if _class(SAMPLERS, name).several_tasks]
        for key, registry in (("gradients", GRADIENTS), ("weighting", WEIGHTINGS)):
            name = str(phase.get(key))
            if name in registry and _class(registry, name).several_tasks and sampler not in fitting:
                self._fault(
                    ("training", key),
                    f"{name} needs several tasks in a step, but the steps of sampler {sampler} hold one; "
                    f"allowed with it: {', '.join(fitting)}",
                    ("training", "sampler"),
                )

    def _adapts(self) -> bool:
        return bool(self.used & (set(ADAPTERS) - {"none"}))

    def _choices(self, section: str, values: dict[str, Any]) -> dict[str, Any]:
        """Return the techniques that a section names, each with its options."""
        return {
            place[1]: self._choice(registry, values.get(place[1]), place)
            for place, registry in PLACES.items()
            if place[0] == section
        }

    def _choice(self, registry: Registry[..., Any], name: Any, place: tuple[str, ...]) -> dict[str, Any]:
        """Return a technique's name with its section's values."""
        if name is None:
            self._fault(place, f"needs a value; known: {', '.join(registry)}")
            return {"name": name}
        self.used.add(name)
        section = self._section(name)
        try:
            return {"name": name, **registry[name].settings(**section).model_dump()}
        except pydantic.ValidationError as error:
            self.faults += self.located(error, name)
            return {"name": name}

    def _sources(self) -> dict[str, str]:
        used = (registry[name] for registry in REGISTRIES for name in registry if name in self.used)
        digests: dict[str, str] = {}
        for technique in used:
            digests |= code.of_technique(technique.source)
        return dict(sorted(digests.items()))

    def _unused(self) -> None:
        """Refuse overrides of what the variant does not use, which would have no effect."""
        for key in self.keys:
            if key not in (*ENTRY, *COMMON, *self.used):
                allowed = ", ".join([*ENTRY, *COMMON, *sorted(self.used)])
                message = f"the variant does not use {key}; add it to `uses`, or allowed here: {allowed}"
                self._fault(("catalog", self.name, key), message)

    def _fault(self, place: Place, message: str, *others: Place) -> None:
        """Record a fault where the value was set, or at one of the others that it does not fit, if that departs."""
        self.faults.append(Fault(self._origin(place, *others), message))

    def _origin(self, place: Place, *others: Place) -> Place:
        if place[0] in COLLECTIONS:
            return place
        return blamed(self.params, (place, *others), self.name)

    def located(self, error: pydantic.ValidationError, *section: str) -> list[Fault]:
        """Return the faults that pydantic found, each at the place where its value was set."""
        located = []
        for keys, message in faults(error):
            if keys[:1] == ("phases",):  # every phase starts from `training`
                keys = ("training", *keys[2:])
            located.append(Fault(self._origin((*section, *keys)), message))
        return located


def _class(registry: Registry[..., Any], name: str) -> Any:
    """Return a technique's class, which holds its checks and what it is for."""
    return registry[name].build
