"""Which models can teach a variant: one for each of its tasks, none of which has seen what the variant is judged on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mtbert.config.params import Fault, Params
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.schedules import SCHEDULES
from mtbert.variants.settings import VariantSettings


def find_faults(params: Params, selected: Mapping[str, Mapping[str, Any]]) -> Iterator[Fault]:
    """Yield why the teachers of a selected variant cannot teach it.

    Args:
        params: the settings; `variants` there is the order in which DVC trains.
        selected: the files of the selected variants, by name.
    """
    listed = params.get("variants")
    for name in listed:
        student = VariantSettings(**selected[name])
        place = ("catalog", name, "teachers")
        earlier = listed[: listed.index(name)]
        late = [teacher for teacher in student.teachers if teacher not in earlier]
        if late:
            order = f"{name} learns from {', '.join(late)}, which `variants` does not list before it"
            yield Fault(place, f"{order}; list each teacher there, before {name}")
            continue
        teachers = [VariantSettings(**selected[teacher]) for teacher in student.teachers]
        yield from (Fault(place, message) for message in _faults(student, teachers))


def _faults(student: VariantSettings, teachers: Sequence[VariantSettings]) -> Iterator[str]:
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
