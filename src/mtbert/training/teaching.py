"""What teachers predict of training rows, for objectives that learn from it.

What it does: before the first phase that learns from teachers, each teacher of the run's seed predicts the training
rows of its tasks once, without dropout. What it predicts lies in `Examples.soft_labels`, in memory alone. A training
that resumes computes it again, on the same hardware to the same numbers.

What is used: a teacher's run in the build folder, if it is whole and was made from what lies there now. So no model of
other labels, rows or code teaches. Its probabilities are those of its logits, without the temperature of calibration.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from mtbert import layout
from mtbert.data import tokens
from mtbert.data.batches import Examples
from mtbert.errors import DataError
from mtbert.learning.objectives import OBJECTIVES
from mtbert.machine.hardware import Hardware
from mtbert.models.encoder import architectures
from mtbert.models.heads.base import Head
from mtbert.models.multitask import MultitaskModel
from mtbert.provenance import manifests, seals
from mtbert.training import evaluation
from mtbert.training.checkpoints import random_state, set_random_state
from mtbert.training.phases import Phase
from mtbert.variants.building import build_model, read_split
from mtbert.variants.settings import PhaseSettings, VariantSettings


@dataclass(frozen=True)
class Lesson:
    """What a student learns from.

    Attributes:
        student: the settings of the run.
        seed: of the run and of its teachers.
        build: the build folder.
        train: the student's training examples by corpus, which get soft labels.
        hardware: what teachers compute on.
    """

    student: VariantSettings
    seed: int
    build: Path
    train: Mapping[str, Examples]
    hardware: Hardware


def with_teachers(builds: Sequence[Callable[[], Phase]], lesson: Lesson) -> list[Callable[[], Phase]]:
    """Return the functions that build phases; each also has the teachers predict the rows that its phase learns on."""
    numbered = zip(builds, lesson.student.phases, strict=True)
    return [partial(_built, build, phase, lesson) for build, phase in numbered]


def _built(build: Callable[[], Phase], phase: PhaseSettings, lesson: Lesson) -> Phase:
    if any(OBJECTIVES.class_of(objective).learns_from_teachers for objective in phase.objectives):
        teach(phase.tasks, lesson)
    return build()


def teach(corpora: Sequence[str], lesson: Lesson) -> None:
    """Have the teachers predict the training rows of these corpora, unless they have.

    Raises: DataError as for `_check`.
    """
    waiting = [name for name in corpora if lesson.train[name].soft_labels is None]
    if not waiting:
        return
    runs = [layout.run(lesson.build, teacher, lesson.seed) for teacher in lesson.student.teachers]
    for run in runs:  # all of them, before the first predicts for minutes
        _check(run, lesson)
    for run in runs:
        settings = layout.read_planned(VariantSettings, layout.plan(lesson.build, run.parent.name))
        taught = [name for name in waiting if lesson.student.task_of(name).name in settings.tasks]
        if taught:
            _predict(settings, run, taught, lesson)


def _predict(settings: VariantSettings, run: Path, corpora: Sequence[str], lesson: Lesson) -> None:
    """Write what a teacher predicts of the training rows of these corpora."""
    on = lesson.hardware
    drawn = random_state(on.device)  # the student's dropout is what it is without teachers
    model = _model(settings, run, lesson)
    encoder = layout.encoder(lesson.build, settings.model.encoder)
    special = tokens.special_tokens(encoder)
    for name in corpora:
        task = lesson.student.task_of(name).name
        examples = read_split(settings, name, task, "train", layout.data(lesson.build), special)
        print(f"{settings.variant} predicts {len(examples):,} training rows of {name}")
        with on.autocast():
            outputs = evaluation.outputs(model, examples, on.device).cpu()
        lesson.train[name].soft_labels = soft_labels(model.head(task), outputs)
    set_random_state(drawn, on.device)


def _check(run: Path, lesson: Lesson) -> None:
    """Raise DataError where a teacher is missing, damaged, without weights here, or made from other inputs than now."""
    needs = f"{lesson.student.variant}, seed {lesson.seed}, learns from {run.parent.name} of the same seed"
    if not seals.is_sealed(run):
        raise DataError(f"{needs}, but {run} is missing; `{layout.remedy(run)}` trains it first")
    seals.check(run, only=[layout.WEIGHTS])
    if not manifests.is_finished(run, lesson.build):
        others = f"was made from other settings, data, weights or code than lie in {lesson.build}, or is damaged"
        raise DataError(f"{needs}, but {run} {others}; `{layout.remedy(run)}` trains it again")


def _model(settings: VariantSettings, run: Path, lesson: Lesson) -> MultitaskModel:
    encoder = layout.encoder(lesson.build, settings.model.encoder)
    backbone, vocabulary = architectures.read(encoder), tokens.vocabulary(encoder)
    model = build_model(settings, backbone, lesson.seed, vocabulary, tokens.special_tokens(encoder))
    model.load_state_dict(load_file(run / layout.WEIGHTS))
    return model.to(lesson.hardware.device)


@torch.no_grad()
def soft_labels(head: Head, outputs: Tensor) -> Tensor:
    """Return what a head's outputs [examples, size] say.

    Returns:
        Probabilities [examples, classes], where yes or no are two classes; of sets those of no and yes to each label,
        [examples, labels, 2]; or scores [examples].
    """
    if head.task.kind == "score":
        return head.scores(outputs)
    return head.log_probabilities(outputs).exp()
