"""Resolve one variant: merge what all layers set for it, and check that it fits together.

A variant's file holds only what the variant uses.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import pydantic

from mtbert import tasks
from mtbert.config import code, rates
from mtbert.config.params import IN_PAPERS, OTHERS, Fault, Params, Place, merged, over, where_set
from mtbert.config.techniques import NAMES, PLACES, REGISTRIES
from mtbert.encoders.settings import SBERT, EncoderSettings, SbertSettings
from mtbert.errors import SettingsError, faults
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.samplers.base import Workload
from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.models.adapters import ADAPTERS, SIZED
from mtbert.models.connectors import CONNECTORS
from mtbert.models.encoder.architectures import read_config
from mtbert.models.heads import HEADS
from mtbert.models.multitask import check_apart
from mtbert.registry import Chosen, Registry
from mtbert.variants.settings import VariantSettings


def variant(params: Params, name: str) -> tuple[dict[str, Any], list[Fault]]:
    """Resolve one variant; return it and its faults."""
    resolver = _Resolver(params, name)
    try:
        return resolver.resolve(), resolver.faults
    except pydantic.ValidationError as error:
        resolver.record(error)
        return {}, resolver.faults


def shared(params: Params, selected: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the files on the starting weights of the selected variants, by name."""
    run = merged(params, "run")
    encoder = merged(params, "encoder")
    as_elsewhere = {key: run[key] for key in ("device", "precision", "threads") if key in run}  # as in trainings
    if "weights" in encoder:
        as_elsewhere["weights"] = encoder["weights"]
    is_needed = SBERT in {variant["model"]["encoder"] for variant in selected.values()}
    pretrain: dict[str, Any] = {"needed": is_needed}
    if is_needed:
        values = as_elsewhere | merged(params, "pretrain").get(SBERT, {})
        pretrain |= SbertSettings(**values).model_dump(mode="json")
    return {"encoder": EncoderSettings(**encoder).model_dump(), "pretrain": pretrain}


def about(params: Params, name: str) -> dict[str, Any]:
    """Return what the catalog says of a variant: its tasks, and the published rows that it answers to."""
    entry = params.get("catalog", name)
    defaults = {"paper": None, "row": name, "also": [], "rival": "", "tasks": [*tasks.main(params.tasks)]}
    return defaults | {key: entry[key] for key in defaults if entry.get(key)}


def _sizes(params: Params) -> tuple[int, int]:
    """Return the encoder's width and number of layers; EncoderError where a folder does not tell."""
    encoder = EncoderSettings(**merged(params, "encoder"))
    if encoder.folder:
        _, config = read_config(encoder.folder)
        return config.hidden_size, config.num_hidden_layers
    return encoder.source.width or encoder.width, encoder.known_layers


class _Resolver:
    """Resolves one variant and collects its faults.

    Attributes:
        used: the techniques that it uses. `_technique` adds to them, so the model is resolved before the phases, and
            these before what asks for unused sections.
        places_in_uses: by the key that an entry of `uses` sets, such as model.adapter, the place of that entry.
    """

    def __init__(self, params: Params, name: str) -> None:
        self.params = params
        self.name = name
        self.entry: dict[str, Any] = params.get("catalog", name)
        self.about = about(params, name)
        self.tasks: list[str] = self.about["tasks"]
        self.used: set[str] = set()
        self.faults: list[Fault] = []
        self.places_in_uses: dict[Place, Place] = {}

    def resolve(self) -> dict[str, Any]:
        """Return the content of the variant's file; nothing where there are faults."""
        if missing := [name for name in self.tasks if name not in self.params.tasks]:
            available = f"the data folder has {', '.join(self.params.tasks)}"
            self._fault(("catalog", self.name, "tasks"), f"it is of {', '.join(missing)}, but {available}")
            return {}
        run = merged(self.params, "run", self.name)
        model = merged(self.params, "model", self.name)
        training = merged(self.params, "training", self.name)
        self._use(model, training)
        resolved_model = self._model(model)
        phases = [{}] if self.entry.get("phases") is None else self.entry["phases"]
        resolved_phases: list[dict[str, Any]] = []
        for number, phase in enumerate(phases):
            resolved_phases.append(self._phase(number, over(training, phase), resolved_model["heads"], run))
        run = self._with_selection(run, resolved_phases)
        self._refuse_unused_sections()
        if not phases and self.entry.get("training"):
            message = "the variant has no phases, so nothing of this has an effect; allowed: this or `phases: []`"
            self._fault(("catalog", self.name, "training"), message)
        if self.faults:
            return {}
        trained_on = [name for phase in resolved_phases for name in phase["tasks"]]
        document = {
            **self.about,
            "variant": self.name,
            "profile": self.params.get("profile"),
            "model": resolved_model,
            "phases": resolved_phases,
            "run": run,
            "described": tasks.of_run(self.params.tasks, self.tasks, trained_on),
            "sources": self._sources(),
        }
        settings = VariantSettings.model_validate(document)
        self._check_evaluations(settings)
        self._check_watched(settings)
        return {} if self.faults else settings.model_dump()

    def _with_selection(self, run: dict[str, Any], phases: list[dict[str, Any]]) -> dict[str, Any]:
        """Return section `run` with the rows that choose: all of dev is scored where nothing is chosen on it."""
        if self.faults:
            return run
        is_watched = any(SCHEDULES.build(phase["schedule"]).needs_dev for phase in phases)
        if run.get("keep") == "last" and not is_watched:
            return {**run, "selection": "whole"}
        if run.get("selection") == "spared":
            for number, phase in enumerate(phases):
                if not phase.get("spared"):
                    message = "run.selection is spared, but no training rows are; allowed: above 0, such as 0.1"
                    self._fault(self._of_phase(number, "spared"), message)
        return run

    def _refuse_unused_sections(self) -> None:
        """Record a fault for each section of the entry whose technique the variant does not use."""
        for key in self.entry:
            if key in NAMES and key not in self.used:
                allowed = ", ".join(sorted(self.used))
                message = f"the variant does not use {key}; add it to `uses`, or allowed here: {allowed}"
                self._fault(("catalog", self.name, key), message)

    def _check_evaluations(self, settings: VariantSettings) -> None:
        """Check that the best epoch of the last phase can be known: that one of its epochs is scored on dev."""
        every = settings.run.evaluations
        if settings.run.keep != "best" or not settings.phases:
            return
        epochs = [phase.epochs for phase in settings.phases]
        if sum(epochs) // every == sum(epochs[:-1]) // every:
            last = epochs[-1]
            message = f"run.keep is best, but no epoch of the last phase is scored on dev; allowed: at most {last}"
            self._fault(("run", "evaluations"), message)

    def _check_watched(self, settings: VariantSettings) -> None:
        """Check that no schedule watches rows of dev that are scored; `whole` says itself that it chooses on these."""
        run = settings.run
        if run.selection != "whole" or run.keep == "best":
            return
        for number, phase in enumerate(settings.phases):
            schedule = SCHEDULES.build(phase.schedule)
            if schedule.needs_dev:
                message = (
                    f"{phase.schedule.name} watches rows of dev that count in the scores, since run.selection is "
                    f"{run.selection} and run.keep {run.keep}; allowed: run.selection: half, or {schedule.without_dev}"
                )
                self._fault(self._of_phase(number, "schedule"), message)

    def _sources(self) -> dict[str, str]:
        """Return the digests of the files that the variant's techniques use, by name."""
        digests: dict[str, str] = {}
        for registry in REGISTRIES:
            for name in registry.keys() & self.used:
                digests |= code.of_technique(registry[name].source)
        return dict(sorted(digests.items()))

    def _use(self, model: dict[str, Any], training: dict[str, Any]) -> None:
        """Put the techniques that `uses` lists into their places; a variant may have several objectives."""
        chosen: dict[tuple[str, str], str] = {}  # for each key that holds one name
        for number, name in enumerate(self.entry.get("uses") or []):
            if name in OBJECTIVES:
                training["objectives"] = [*dict.fromkeys([*(training.get("objectives") or []), name])]
                continue
            place = next((place for place, registry in PLACES.items() if name in registry), ("model", "encoder"))
            if other := chosen.get(place):
                message = f"{name!r} would take the place of {other!r}; allowed: one {'.'.join(place)}"
                self._fault(("catalog", self.name, "uses", number), message)
            section, key = place
            stated = (self.entry.get(section) or {}).get(key)
            if stated not in (None, name):
                message = f"{name!r} would take the place of {section}.{key}: {stated}; allowed: one of the two"
                self._fault(("catalog", self.name, "uses", number), message)
            chosen[place] = name
            self.places_in_uses[place] = ("catalog", self.name, "uses", number)
            if section == "model":
                model[key] = name
            else:
                training[key] = name

    def _model(self, model: dict[str, Any]) -> dict[str, Any]:
        heads, pooling = model.get("heads") or {}, model.get("pooling") or {}
        resolved = {
            "encoder": "base",
            "token_types": "zeros",
            **model,
            **self._techniques("model", model),
            "heads": {task: self._technique(HEADS, heads.get(task) or heads.get(OTHERS)) for task in self.tasks},
            "pooling": {task: pooling.get(task) or pooling.get(OTHERS) or "pooler" for task in self.tasks},
        }
        if not self.faults:
            self._check_model(resolved)
        return resolved

    def _phase(self, number: int, phase: dict[str, Any], heads: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
        trained = self.tasks if phase.get("tasks") in (None, "all") else phase["tasks"]
        if unfit := [entry for entry in trained if not self._serves(entry)]:
            message = f"{', '.join(unfit)}: trains none of the variant's tasks, {', '.join(self.tasks)}"
            self._fault(self._of_phase(number, "tasks"), message)
        has_adapter = not self.used.isdisjoint(set(ADAPTERS) - {"none"})
        if not rates.trained_parts(phase):
            message = "frozen holds all of trainable, so nothing would be trained; allowed: fewer parts"
            self._fault(self._of_phase(number, "frozen"), message)
        self._check_layers(number, phase)
        if phase.get("trainable") == ["adapters"] and not has_adapter:
            message = "adapters alone are trained, but the variant has no adapter"
            self._fault(self._of_phase(number, "trainable"), message)
        if not has_adapter or "adapters" not in rates.trained_parts(phase):
            phase = {key: value for key, value in phase.items() if key != "adapter_rate"}  # it would have no effect
        trained_parts = rates.trained_parts(phase)
        if trained_parts <= rates.HEAD_PARTS or "heads" not in trained_parts:  # heads alone have `learning_rate`
            phase = {key: value for key, value in phase.items() if key != "head_rate"}
        objectives = [self._technique(OBJECTIVES, name) for name in phase.get("objectives") or []]
        resolved = {**phase, **self._techniques("training", phase), "tasks": trained, "objectives": objectives}
        if self.faults:
            return resolved
        self._check_phase(number, resolved, heads, run)
        return rates.settled(resolved)

    def _check_phase(self, number: int, phase: dict[str, Any], heads: dict[str, Any], run: dict[str, Any]) -> None:
        """Check that the techniques of a phase fit each other, its tasks, the heads and the section `run`."""
        with self._faults_at(*self._of_phase(number, "sampler")):
            SAMPLERS.build(phase["sampler"], Workload(dict.fromkeys(phase["tasks"], 1), epochs=1, steps=None))
        if not SAMPLERS.class_of(phase["sampler"]).several_tasks:
            classes: dict[str, Any] = {name: sampler.build for name, sampler in SAMPLERS.items()}
            fitting = ", ".join(name for name, sampler in classes.items() if sampler.several_tasks)
            for key, registry in (("gradients", GRADIENTS), ("weighting", WEIGHTINGS)):
                if registry.class_of(phase[key]).several_tasks:
                    needs = f"{phase[key].name} needs several tasks in a step"
                    have = f"the steps of sampler {phase['sampler'].name} hold one"
                    self._fault(self._of_phase(number, key), f"{needs}, but {have}; allowed with it: {fitting}")
        for task in sorted(set(map(self._trains, phase["tasks"]))):
            if not HEADS.class_of(heads[task]).learns:
                message = f"{heads[task].name} learns nothing, but {task} is trained; allowed with it: `phases: []`"
                self._fault(("model", "heads", task), message)
        if SCHEDULES.build(phase["schedule"]).needs_dev and run.get("evaluations") == 0:
            message = f"{phase['schedule'].name} needs dev scores, but run.evaluations is 0"
            self._fault(self._of_phase(number, "schedule"), message)

    def _check_layers(self, number: int, phase: dict[str, Any]) -> None:
        """Check that the layers that a phase names are the encoder's, where their number is known."""
        count = EncoderSettings(**merged(self.params, "encoder")).known_layers
        for key in ("trainable", "frozen"):
            for part in phase.get(key) or []:
                layer = part.removeprefix("layer_")
                if count and layer.isdigit() and int(layer) > count:
                    self._fault(self._of_phase(number, key), f"{part}: the encoder has {count} layers")

    def _of_phase(self, number: int, *keys: str | int) -> Place:
        """Return the place of a phase's value: its own in the entry, else that in section `training`."""
        own: Place = ("catalog", self.name, "phases", number, *keys)
        return ("training", *keys) if self.params.get(*own) is None else own

    def _serves(self, name: str) -> bool:
        """Return whether a phase's entry is in the data folder and trains one of the variant's tasks."""
        return name in self.params.tasks and self._trains(name) in self.tasks

    def _trains(self, name: str) -> str:
        """Return the task that a phase's entry trains."""
        return self.params.tasks[name].trains if name in self.params.tasks else name

    def _techniques(self, section: str, values: dict[str, Any]) -> dict[str, Chosen[Any]]:
        """Return the techniques that a section names, each with its settings."""
        return {
            place[1]: self._technique(registry, values.get(place[1]))
            for place, registry in PLACES.items()
            if place[0] == section
        }

    def _technique(self, registry: Registry[..., Any], name: str | None) -> Chosen[Any]:
        """Return a technique, or the default, with its section's values; count it as used."""
        name = name or registry.default or ""
        self.used.add(name)
        settings = self._settings(registry, name)
        if name in SIZED:
            other, sized = SIZED[name]
            like = self._settings(ADAPTERS, other)
            if not self.faults:
                settings = sized(settings, like, *_sizes(self.params))
        return Chosen(name, settings)

    def _settings(self, registry: Registry[..., Any], name: str) -> Any:
        """Return a technique's settings as its section has them; the defaults where they are refused."""
        settings_type = registry[name].settings
        try:
            return settings_type(**merged(self.params, name, self.name))
        except pydantic.ValidationError as error:
            self.record(error, name)
            return settings_type.model_construct()

    def _check_model(self, model: dict[str, Any]) -> None:
        """Let the adapter check whether it fits the encoder, and connector and heads whether they serve the tasks."""
        encoder = EncoderSettings(**merged(self.params, "encoder"))
        if encoder.known_layers:
            adapter: Chosen[Any] = model["adapter"]
            with self._faults_at(adapter.name):
                ADAPTERS.class_of(adapter).check(adapter.settings, encoder.known_layers)
        connector, settings = CONNECTORS.class_of(model["connector"]), model["connector"].settings
        with self._faults_at("model", "connector"):
            connector.check(settings, self.tasks, encoder.known_width)
            mixed = connector.mixes(settings, self.tasks)
            for task, head in model["heads"].items():
                is_apart = model.get("pair_encoding") == "bi" or HEADS.class_of(head).compares
                embeddings = 2 if self.params.tasks[task].is_pair and is_apart else 1
                with self._faults_at("model", "heads", task):
                    HEADS.class_of(head).check(head.settings, self.params.tasks[task], embeddings)
                    check_apart(task, HEADS.class_of(head), mixed)

    @contextlib.contextmanager
    def _faults_at(self, *place: str | int) -> Iterator[None]:
        try:
            yield
        except SettingsError as error:
            self._fault(place, str(error))

    def _fault(self, place: Place, message: str) -> None:
        """Record a fault where the value was set: by `uses`, in the entry of the variant, or in a weaker layer."""
        if place[0] not in IN_PAPERS:
            place = self.places_in_uses.get(place) or where_set(self.params, place, self.name)
        self.faults.append(Fault(place, message))

    def record(self, error: pydantic.ValidationError, *section: str) -> None:
        """Record the faults that pydantic found, each at the place where its value was set."""
        for keys, message in faults(error):
            match keys:
                case ("phases", int(number), *rest):
                    self._fault(self._of_phase(number, *rest), message)
                case _:
                    self._fault((*section, *keys), message)
