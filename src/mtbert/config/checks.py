"""What fits together in a resolved variant: its techniques with each other, its tasks, its encoder and section `run`.

Nothing is built of a model to find out: a technique's class says it, by its attributes or its method `check`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mtbert.config.params import Fault, Place
from mtbert.errors import SettingsError
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.samplers.base import Workload
from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.models.adapters import ADAPTERS
from mtbert.models.connectors import CONNECTORS
from mtbert.models.heads import HEADS
from mtbert.models.multitask import check_apart
from mtbert.pretrained.settings import EncoderSettings
from mtbert.variants.settings import PhaseSettings, VariantSettings


def find_faults(variant: VariantSettings, encoder: EncoderSettings) -> Iterator[Fault]:
    """Yield what does not fit together in a variant; the place of a fault is its keys there."""
    for keys, check in (*_model_checks(variant, encoder), *_sampler_checks(variant)):
        try:
            check()
        except SettingsError as error:
            yield Fault(keys, str(error))
    for number, phase in enumerate(variant.phases):
        yield from (Fault(("phases", number, key), text) for key, text in _phase_faults(variant, phase))
        for task in sorted({variant.task_of(entry).name for entry in phase.tasks}):
            head = variant.model.heads[task]
            if not HEADS.class_of(head).learns:
                message = f"{head.name} learns nothing, but {task} is trained; allowed with it: `phases: []`"
                yield Fault(("model", "heads", task), message)
    epochs = [phase.epochs for phase in variant.phases]
    every = variant.run.evaluations
    if variant.run.keep == "best" and epochs and sum(epochs) // every == sum(epochs[:-1]) // every:
        message = f"run.keep is best, but no epoch of the last phase is scored on dev; allowed: at most {epochs[-1]}"
        yield Fault(("run", "evaluations"), message)


def _model_checks(variant: VariantSettings, encoder: EncoderSettings) -> Iterator[tuple[Place, Callable[[], None]]]:
    """Yield keys of the model, and what raises SettingsError if they fit neither the encoder nor the tasks."""
    model = variant.model
    if encoder.known_layers:
        check_adapter = ADAPTERS.class_of(model.adapter).check
        yield (model.adapter.name,), partial(check_adapter, model.adapter.settings, encoder.known_layers)
    connector, settings = CONNECTORS.class_of(model.connector), model.connector.settings
    yield ("model", "connector"), partial(connector.check, settings, variant.tasks, encoder.known_width)
    mixed = connector.mixes(settings, variant.tasks)
    for task, head in model.heads.items():
        head_class, description = HEADS.class_of(head), variant.described[task]
        embeddings = 2 if model.is_apart(description) else 1
        yield ("model", "heads", task), partial(head_class.check, head.settings, description, embeddings)
        yield ("model", "heads", task), partial(check_apart, task, head_class, mixed)


def _sampler_checks(variant: VariantSettings) -> Iterator[tuple[Place, Callable[[], Any]]]:
    """Yield the key of each sampler, and what raises SettingsError if it does not fit the tasks of its phase."""
    for number, phase in enumerate(variant.phases):
        workload = Workload(dict.fromkeys(phase.tasks, 1), epochs=1, steps=None)
        yield ("phases", number, "sampler"), partial(SAMPLERS.build, phase.sampler, workload)


def _phase_faults(variant: VariantSettings, phase: PhaseSettings) -> Iterator[tuple[str, str]]:
    """Yield the faults of a phase's techniques, by key: what fits neither the sampler nor section `run`."""
    run, sampler, schedule = variant.run, phase.sampler.name, SCHEDULES.build(phase.schedule)
    if not SAMPLERS.class_of(phase.sampler).several_tasks:
        classes: dict[str, Any] = {name: technique.build for name, technique in SAMPLERS.items()}
        fitting = ", ".join(name for name, sampler_class in classes.items() if sampler_class.several_tasks)
        for key, registry in (("gradients", GRADIENTS), ("weighting", WEIGHTINGS)):
            technique = getattr(phase, key)
            if registry.class_of(technique).several_tasks:
                needs = f"{technique.name} needs several tasks in a step, but the steps of sampler {sampler} hold one"
                yield key, f"{needs}; allowed with it: {fitting}"
    if schedule.needs_dev and not run.evaluations:
        yield "schedule", f"{phase.schedule.name} needs dev scores, but run.evaluations is 0"
    # With `keep: best`, `selection: whole` already means that scored rows choose, so nothing more is refused.
    if schedule.needs_dev and run.selection == "whole" and run.keep != "best":
        watches = f"{phase.schedule.name} watches rows of dev that count in the scores"
        since = f"since run.selection is {run.selection} and run.keep {run.keep}"
        yield "schedule", f"{watches}, {since}; allowed: run.selection: half, or {schedule.without_dev}"
    if variant.share < 1 and phase.rows is not None:
        message = (
            f"{variant.variant} reads a part of train, of which this would take the same {phase.rows:,} rows again"
        )
        yield "rows", f"{message}; allowed with `part`: null"
    if run.selection == "spared" and not phase.spared:
        yield "spared", "run.selection is spared, but no training rows are; allowed: above 0, such as 0.1"
