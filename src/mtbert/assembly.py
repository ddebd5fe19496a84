"""Settings to ready parts: the one place that knows every kind of technique."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pydantic
import torch
from tokenizers import Tokenizer
from transformers import BertModel

from mtbert import files, seeding
from mtbert.adapters import ADAPTERS
from mtbert.adapters.base import Shape
from mtbert.data import batches
from mtbert.data.batches import Examples, Marks, Stream
from mtbert.encoder import loading
from mtbert.encoder.bert import Encoder
from mtbert.errors import DataError, EncoderError, SettingsError, in_words
from mtbert.gradients import GRADIENTS
from mtbert.heads import HEADS
from mtbert.heads.base import Head
from mtbert.model import MultitaskModel
from mtbert.objectives import OBJECTIVES
from mtbert.objectives.base import generator_like
from mtbert.samplers import SAMPLERS
from mtbert.samplers.base import Plan
from mtbert.settings import PhaseSettings, VariantSettings
from mtbert.tasks import SPLITS, TASKS, Split
from mtbert.training.loop import steps_per_epoch
from mtbert.training.phases import Phase
from mtbert.training.run import Parts, device_and_precision
from mtbert.training.schedules import SCHEDULES


def read_settings(file: Path) -> VariantSettings:
    """A plan file, checked; SettingsError where it is not there or not what `plan` writes."""
    if not file.exists():
        raise SettingsError(f"{file} is missing; `dvc repro plan` makes it for the variants that params.yaml lists")
    try:
        return VariantSettings(**files.read_yaml(file))
    except pydantic.ValidationError as error:
        raise SettingsError(f"{file} is not as `dvc repro plan` writes it: {in_words(error)}") from None


def assemble(settings: VariantSettings, seed: int, build: Path) -> Parts:
    """The parts of one run, from the settings and what earlier stages wrote below `build`."""
    encoder = build / "encoders" / settings.model.encoder
    examples = read_examples(settings, build / "data", encoder)
    model = build_model(settings, loading.load(encoder), seed)
    sizes = {task: len(split) for task, split in examples["train"].items()}
    return Parts(
        settings=settings,
        seed=seed,
        model=model,
        phases=_phases(settings, seed, model, examples["train"]),
        steps=sum(phase.epochs * _steps(phase, sizes) for phase in settings.phases),
        examples=examples,
    )


def build_model(settings: VariantSettings, bert: BertModel, seed: int) -> MultitaskModel:
    """The model with fresh adapters and heads, whose weights the seed decides."""
    torch.manual_seed(seeding.derive(seed, "weights"))
    chosen = settings.model
    encoder = Encoder(bert, chosen.dropout)
    shape = Shape(encoder.width, encoder.layers, bert.config.initializer_range)
    adapter = ADAPTERS.build(chosen.adapter, shape, settings.tasks)
    heads = {task: build_head(settings, task, encoder.width) for task in settings.tasks}
    return MultitaskModel(encoder, adapter, heads, chosen.pooling)


def build_head(settings: VariantSettings, name: str, width: int) -> Head:
    """The head of one task."""
    task = TASKS[name]
    embeddings = 2 if task.is_pair and settings.model.pair_encoding == "bi" else 1
    return HEADS.build(settings.model.heads[name], task, width, embeddings)


def read_examples(settings: VariantSettings, data: Path, encoder: Path) -> dict[Split, dict[str, Examples]]:
    """Every split of the variant's tasks that is there; train and dev have to be."""
    marks = _marks(encoder)
    found: dict[Split, dict[str, Examples]] = {split: {} for split in SPLITS}
    for name in settings.tasks:
        for split in SPLITS:
            file = data / name / f"{split}.parquet"
            if file.exists():
                task, model = TASKS[name], settings.model
                found[split][name] = batches.load(file, task, model.pair_encoding, marks, model.max_tokens)
            elif split != "test":
                raise DataError(f"{file} is missing; `dvc repro preprocess` makes it from data_dir (params.yaml)")
    return found


def _marks(encoder: Path) -> Marks:
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    ids = [tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]")]
    if None in ids:
        raise EncoderError(f"{encoder / 'tokenizer.json'} lacks one of [CLS], [SEP] and [PAD], so it is not BERT's")
    return Marks(*(int(number) for number in ids if number is not None))


def _phases(
    settings: VariantSettings, seed: int, model: MultitaskModel, train: Mapping[str, Examples]
) -> Iterator[Phase]:
    """Each phase when its turn comes: what an objective copies of the model is then what the phase starts from."""
    for number, phase in enumerate(settings.phases, start=1):
        yield _phase(number, phase, settings, seed, model, train)


def _phase(
    number: int,
    phase: PhaseSettings,
    settings: VariantSettings,
    seed: int,
    model: MultitaskModel,
    train: Mapping[str, Examples],
) -> Phase:
    streams = {task: Stream(train[task], phase.batch_size, seeding.derive(seed, number)) for task in phase.tasks}
    sizes = {task: len(train[task]) for task in phase.tasks}
    steps = _steps(phase, sizes)
    parameters = model.train_only(phase.trainable)
    device, _ = device_and_precision(settings)
    return Phase(
        number=number,
        settings=phase,
        steps_per_epoch=steps,
        parameters=parameters,
        streams=streams,
        sampler=SAMPLERS.build(phase.sampler, Plan(sizes, phase.epochs, steps)),
        objectives={
            choice["name"]: _objective(choice, model, seeding.derive(seed, "noise", number), device)
            for choice in phase.objectives
        },
        rule=GRADIENTS.build(phase.gradients),
        schedule=SCHEDULES.build(phase.schedule),
    )


def _objective(choice: dict[str, Any], model: MultitaskModel, seed: int, device: torch.device) -> Any:
    return OBJECTIVES.build(choice, model, generator_like(seed, device))


def _steps(phase: PhaseSettings, sizes: Mapping[str, int]) -> int:
    return phase.steps_per_epoch or steps_per_epoch({task: sizes[task] for task in phase.tasks}, phase.batch_size)
