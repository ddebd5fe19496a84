"""Build the parts of a training from its settings: the model, its phases, and the examples."""

import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import torch

from mtbert import files, layout, seeding
from mtbert.data import batches, parts, tokens
from mtbert.data.batches import Examples, Stream
from mtbert.errors import DataError
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.samplers.base import Sampler, Workload
from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.machine import hardware
from mtbert.models.encoder import architectures
from mtbert.models.multitask import MultitaskModel
from mtbert.tasks import SPLITS, Split
from mtbert.training import cached, teaching
from mtbert.training.phases import Phase, trained_on, trained_on_last
from mtbert.training.run import Parts, hardware_of
from mtbert.variants.building import build_model, read_split
from mtbert.variants.settings import PhaseSettings, VariantSettings


def assemble(settings: VariantSettings, seed: int, build: Path) -> Parts:
    """Build the parts of one run from its settings and what earlier stages wrote below `build`."""
    encoder = layout.encoder(build, settings.model.encoder)
    examples = _read_examples(settings, layout.data(build), encoder)
    take_folds(settings, examples, layout.data(build), seed)
    take_share(settings, examples["train"], seed)
    model = build_model(
        settings, architectures.read(encoder), seed, tokens.vocabulary(encoder), tokens.special_tokens(encoder)
    )
    weigh_classes(settings, model, examples["train"])
    for phase in settings.phases:  # a part that the model lacks is refused before the first phase trains
        model.train_only(phase.trainable, phase.frozen)
    model.train_only([])  # nothing is trained unless a phase says so
    cpu_precision = hardware.measured(build) if settings.run.precision == "auto" else None
    on = hardware_of(settings, cpu_precision)
    chosen_on = choosing(settings, examples)
    code = digest_of_code(build)
    builds = phases(settings, seed, model, examples["train"])
    if settings.teachers:
        builds = teaching.with_teachers(builds, teaching.Lesson(settings, seed, build, examples["train"], on))
    return Parts(
        settings=settings,
        seed=seed,
        model=model,
        phases=cached.with_memos(
            builds,
            model,
            [*examples["dev"].values(), *chosen_on.values()],
            seed,
            on,
            cached.store(build, code, settings.sources),
        ),
        steps=steps(settings, examples["train"]),
        examples=examples,
        choosing=chosen_on,
        code=code,
        cpu_precision=cpu_precision,
        encoder_revision=_encoder_revision(build),
    )


def digest_of_code(build: Path) -> str:
    """Return the digest of the code that all trainings share; empty where the plan does not state it."""
    file = layout.plan(build, "code-train")
    return files.sha256(file) if file.is_file() else ""


def _encoder_revision(build: Path) -> str | None:
    """Return the digest of the folder that the encoder was made from; None where the plan states none."""
    file = layout.plan(build, "encoder")
    return layout.read_plan(file).get("revision") if file.is_file() else None


def weigh_classes(settings: VariantSettings, model: MultitaskModel, train: Mapping[str, Examples]) -> None:
    """Give the head of each balanced task the weights of its classes, by the rows that are trained on."""
    for task in settings.tasks:
        if settings.described[task].balanced:
            model.head(task).balance = balance(trained_on_last(settings.phases, task, train[task]))


def balance(examples: Examples) -> torch.Tensor:
    """Return the weight of each class in the loss, n / (k n_c), float32 [classes]; 0 for a class without rows."""
    counts = np.bincount(examples.labels.astype(int), minlength=examples.task.classes)
    weights = len(examples) / (examples.task.classes * np.maximum(counts, 1)) * (counts > 0)
    return torch.from_numpy(weights.astype(np.float32))


def _read_examples(settings: VariantSettings, data: Path, encoder: Path) -> dict[Split, dict[str, Examples]]:
    """Read all splits of the variant's tasks (only test may be missing), and train of the corpora that serve them."""
    special = tokens.special_tokens(encoder)

    def load(name: str, split: Split) -> Examples:
        return read_split(settings, name, settings.task_of(name).name, split, data, special)

    examples: dict[Split, dict[str, Examples]] = {split: {} for split in SPLITS}
    for name, split in itertools.product(settings.tasks, SPLITS):
        if split != "test" or layout.examples(data, name, split).exists():
            examples[split][name] = load(name, split)
    for name in {entry for phase in settings.phases for entry in phase.tasks} - {*settings.tasks}:
        examples["train"][name] = load(name, "train")
    if settings.run.selection == "half":
        for dev in examples["dev"].values():
            dev.halve(parts.halves(dev.clusters))
    return examples


def take_folds(settings: VariantSettings, examples: Mapping[Split, dict[str, Examples]], data: Path, seed: int) -> None:
    """Give each task with folds the seed's fold as dev, and each task as train what is dev of no task there."""
    with_folds = [task for task in map(settings.described.__getitem__, settings.tasks) if task.folds]
    for name in settings.tasks if with_folds else ():
        fold = with_folds[0].fold(seed)
        train = examples["train"][name]
        dev_folds = files.read_parquet(layout.examples(data, name, "train"), ["dev_folds"])["dev_folds"].to_numpy()
        is_train = dev_folds >> fold & 1 == 0
        if settings.described[name].folds:
            folds = files.read_parquet(layout.examples(data, name, "dev"), ["fold"])["fold"].to_numpy()
            examples["dev"][name] = examples["dev"][name].part(np.flatnonzero(folds == fold))
        if not is_train.any():
            raise DataError(
                f"seed {seed} leaves no training row of {name}: each is of dev, or of a group that another task has "
                "there; set fewer folds in tasks.yaml, or leave `group_on` out"
            )
        examples["train"][name] = train.part(np.flatnonzero(is_train))


def take_share(settings: VariantSettings, train: dict[str, Examples], seed: int) -> None:
    """Leave of each task's training examples the share that the variant reads, in whole clusters, drawn by the seed."""
    if settings.share == 1:
        return
    for name in settings.tasks:
        train[name] = train[name].part(parts.nested(train[name].clusters, settings.share, seed))


def choosing(settings: VariantSettings, examples: Mapping[Split, Mapping[str, Examples]]) -> dict[str, Examples]:
    """Return the examples of each task on which epochs are scored: of dev, or the spared training rows."""
    if settings.run.selection != "spared" or not settings.phases:
        return {task: dev.choosing() for task, dev in examples["dev"].items()}
    spared = settings.phases[-1].spared
    return {task: examples["train"][task].split(spared)[1] for task in settings.tasks}


def steps(settings: VariantSettings, train: Mapping[str, Examples]) -> int:
    """Return the number of steps of all phases together."""
    total = 0
    for phase in settings.phases:
        total += phase.epochs * _sampler(settings, phase, _trained_on(phase, train)).steps
    return total


def _trained_on(phase: PhaseSettings, train: Mapping[str, Examples]) -> dict[str, Examples]:
    """Return the examples of a phase's tasks that it trains on."""
    return {task: trained_on(phase, train[task]) for task in phase.tasks}


def phases(
    settings: VariantSettings, seed: int, model: MultitaskModel, train: Mapping[str, Examples]
) -> list[Callable[[], Phase]]:
    """Return a function for each phase that builds it, to be called when its turn comes.

    By then the model is as the phase before left it, and an objective may copy it. Building a phase freezes what the
    phase does not train.
    """
    numbered = enumerate(settings.phases, start=1)
    return [partial(_phase, settings, seed, model, train, number, phase) for number, phase in numbered]


def _phase(
    settings: VariantSettings,
    seed: int,
    model: MultitaskModel,
    train: Mapping[str, Examples],
    number: int,
    phase: PhaseSettings,
) -> Phase:
    device = hardware.training_device(settings.run.device)
    examples = _trained_on(phase, train)
    lengths = batches.LENGTHS if device.type == "cuda" and settings.run.record_steps else ()
    streams = {
        task: Stream(
            examples[task],
            phase.batch_sizes.get(task, phase.batch_size),
            seeding.derive(seed, number),
            phase.batching,
            lengths,
            task,
        )
        for task in phase.tasks
    }
    trained = model.train_only(phase.trainable, phase.frozen)
    objectives = {
        objective.name: OBJECTIVES.build(
            objective, model, _generator(seed, "noise", number, objective.name, device=device)
        )
        for objective in phase.objectives
    }
    weighting = WEIGHTINGS.build(
        phase.weighting, {name: settings.task_of(name) for name in phase.tasks}, _generator(seed, "weighting", number)
    ).to(device)
    objective_parameters = [parameter for objective in objectives.values() for parameter in objective.own]
    return Phase(
        number=number,
        settings=phase,
        parameters=[*trained, *objective_parameters, *weighting.parameters()],
        adapters=[parameter for parameter in model.adapter.parameters() if parameter.requires_grad],
        heads=[parameter for parameter in model.heads.parameters() if parameter.requires_grad],
        streams=streams,
        sampler=_sampler(settings, phase, examples),
        objectives=objectives,
        weighting=weighting,
        rule=GRADIENTS.build(phase.gradients, _generator(seed, "gradients", number)),
        schedule=SCHEDULES.build(phase.schedule),
    )


def _generator(seed: int, *purpose: str | int, device: torch.device | str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(seeding.derive(seed, *purpose))


def _sampler(settings: VariantSettings, phase: PhaseSettings, train: Mapping[str, Examples]) -> Sampler:
    length = phase.epoch_length
    sizes = {name: len(train[name]) for name in phase.tasks}
    batches: dict[str, int] = {}
    turns: dict[str, int] = {}
    for name, size in sizes.items():
        batch_size = phase.batch_sizes.get(name, phase.batch_size)
        batches[name] = math.ceil(size * (length.share or 1) / batch_size)
        task = settings.task_of(name).name  # a corpus that serves another task has no turns beside that
        if (length.examples or length.by_task) and (name == task or task not in turns):
            described = settings.described[task]
            classes = 0 if described.kind == "score" else described.classes
            turns[task] = length.turns(classes, size / batch_size, batch_size)
    return SAMPLERS.build(phase.sampler, Workload(sizes, phase.epochs, length.steps, batches, turns))
