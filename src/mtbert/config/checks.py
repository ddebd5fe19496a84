"""What fits together: the techniques of a variant, its tasks, encoder and section `run`; and the selected variants.

A variant has one teacher for each of its tasks, and none has seen what the variant is judged on.

Nothing is built of a model to find out: a technique's class says it, by its attributes or its method `check`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from mtbert import merging, tasks
from mtbert.config.params import Fault, Params, Place
from mtbert.errors import SettingsError
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.objectives import OBJECTIVES
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

Selected = Mapping[str, Mapping[str, Any]]  # the files of the selected variants, by name


def variant_faults(variant: VariantSettings, encoder: EncoderSettings) -> Iterator[Fault]:
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


def selection_faults(params: Params, selected: Selected) -> Iterator[Fault]:
    """Yield what does not fit together among the selected variants, by their files: members, teachers and folds."""
    yield from _members_of_parts(params)
    yield from _merge_faults(params, selected)
    yield from _teacher_faults(params, selected)
    yield from _fold_faults(params, selected)


def _members_of_parts(params: Params) -> Iterator[Fault]:
    """Yield the members and teachers that read a part of train alone."""
    for group, key in (("ensembles", "members"), ("catalog", "teachers")):
        for name, entry in (params.get(group) or {}).items():
            if parts := [other for other in entry.get(key) or [] if params.whole(other) != other]:
                message = f"{parts[0]} reads a part of train alone; allowed: {key} that read all of it"
                yield Fault((group, name, key), message)


def _merge_faults(params: Params, selected: Selected) -> Iterator[Fault]:
    """Yield why the members of an ensemble cannot be merged."""
    for name, entry in (params.get("ensembles") or {}).items():
        if entry.get("merge") and all(member in selected for member in entry["members"]):
            members = [VariantSettings(**selected[member]) for member in entry["members"]]
            try:
                merging.settings_of(name, entry["merge"], members)
            except SettingsError as error:
                yield Fault(("ensembles", name, "members"), str(error))


def _fold_faults(params: Params, selected: Selected) -> Iterator[Fault]:
    """Yield what does not go together with tasks that have folds."""
    folds = tasks.number_of_folds(params.tasks)
    if not folds:
        return
    with_folds = [name for name, task in params.tasks.items() if task.folds]
    about = f"{with_folds[0]} has `folds: {folds}` in tasks.yaml"
    seeds = params.get("seeds")
    if tasks.whole_repeats(seeds, folds) != seeds:
        repeats = f"whole repeats, such as 1 to {folds} or 1 to {2 * folds}, so that each row is predicted"
        yield Fault(("seeds",), f"{seeds} divide the folds unevenly: {about}; allowed: {repeats}")
    if params.get("held_out"):
        yield Fault(("held_out",), f"it takes dev from train, and {about}; allowed: null, or no folds")
    for name, document in selected.items():
        settings = VariantSettings(**document)
        if settings.run.selection != "spared" and {*with_folds} & {*settings.tasks}:
            fault = f"{name} has {settings.run.selection}, and {about}, of which each row of dev is scored"
            yield Fault(("run", "selection"), f"{fault}; allowed: spared, as profile own sets it")


def _teacher_faults(params: Params, selected: Selected) -> Iterator[Fault]:
    """Yield why the teachers of a selected variant cannot teach it; `variants` is the order in which DVC trains."""
    order = params.get("variants")
    for name in order:
        student = VariantSettings(**selected[name])
        place = ("catalog", name, "teachers")
        earlier = order[: order.index(name)]
        late = [teacher for teacher in student.teachers if teacher not in earlier]
        if late:
            late_teachers = f"{name} learns from {', '.join(late)}, which `variants` does not list before it"
            yield Fault(place, f"{late_teachers}; list each teacher there, before {name}")
            continue
        teachers = [VariantSettings(**selected[teacher]) for teacher in student.teachers]
        yield from (Fault(place, message) for message in _student_faults(student, teachers))


def _student_faults(student: VariantSettings, teachers: Sequence[VariantSettings]) -> Iterator[str]:
    """Yield why these variants cannot teach the student."""
    name = student.variant
    learners = [phase for phase in student.phases if any(_learns(objective) for objective in phase.objectives)]
    if learners and not teachers:
        objective = next(objective.name for objective in learners[0].objectives if _learns(objective))
        yield f"{objective} learns from other models; allowed with it: `teachers`, a list of variants"
        return
    if teachers and not learners:
        classes: dict[str, Any] = {objective: technique.build for objective, technique in OBJECTIVES.items()}
        fitting = ", ".join(objective for objective, built in classes.items() if built.learns_from_teachers)
        yield f"no phase of {name} learns from its teachers; allowed: `uses` with {fitting}, or no teachers"
        return
    if any(not phase.supervised for phase in learners):
        yield "the loss moves from the teachers to the labels; allowed with it: training.supervised: true"
    yield from _faults_of_tasks(student, teachers)
    spared = max((phase.spared for phase in student.phases), default=0.0)
    for teacher in teachers:
        yield from _faults_of_rows(teacher, name, spared)


def _learns(objective: Any) -> bool:
    return OBJECTIVES.class_of(objective).learns_from_teachers


def _faults_of_tasks(student: VariantSettings, teachers: Sequence[VariantSettings]) -> Iterator[str]:
    """Yield the tasks that do not have one teacher each."""
    by_task: dict[str, str] = {}
    for teacher in teachers:
        for task in teacher.tasks:
            if task in by_task:
                yield f"{by_task[task]} and {teacher.variant} both teach {task}; allowed: one teacher a task"
            by_task[task] = teacher.variant
            if task not in student.tasks:
                allowed = ", ".join(student.tasks)
                yield f"{teacher.variant} learns {task}, which {student.variant} does not; allowed: tasks {allowed}"
    if teachers and (untaught := [task for task in student.tasks if task not in by_task]):
        yield f"no teacher of {student.variant} learns {', '.join(untaught)}; allowed: one teacher a task"


def _faults_of_rows(teacher: VariantSettings, student: str, spared: float) -> Iterator[str]:
    """Yield what a teacher has seen that would reach the student: dev, or training rows that the student spares."""
    name, run = teacher.variant, teacher.run
    if not teacher.phases:
        yield f"{name} is not trained; allowed: teachers that are"
    if run.selection != "spared":
        if run.keep == "best":
            yield f"run.keep of {name} is best, which is chosen on dev; allowed: last, or run.selection: spared"
        if any(SCHEDULES.build(phase.schedule).needs_dev for phase in teacher.phases):
            yield f"the schedule of {name} watches dev; allowed: another, or run.selection: spared"
    seen = min((phase.spared for phase in teacher.phases), default=1.0)
    if seen < spared:  # a smaller share of the same rows is part of a larger one: Examples.split
        yield (
            f"{name} trains on rows that {student} holds out: training.spared is {seen:g} there and {spared:g} here; "
            f"allowed: at least {spared:g} there"
        )
