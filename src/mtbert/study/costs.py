"""Estimate how long trainings take on this machine, and what their models store."""

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import nn

from mtbert import seeding
from mtbert.data.batches import Batch
from mtbert.machine import hardware, starting
from mtbert.machine.hardware import Hardware
from mtbert.models.encoder.architectures import read_config
from mtbert.models.encoder.base import Backbone
from mtbert.models.encoder.bert import Bert, Config
from mtbert.models.multitask import MultitaskModel
from mtbert.pretrained.settings import SOURCES, TINY, EncoderSettings
from mtbert.study.understanding import FolderTask
from mtbert.variants.building import build_model
from mtbert.variants.settings import VariantSettings

JOBS = 2  # trainings that `make reproduce` runs side by side on a CPU
TRIED, LEAST = 3.0, 4  # seconds in which steps are counted, and how many at least
WORDS = re.compile(r"\w+|[^\w\s]")
COUNTED = 1000  # rows of a task whose words are counted
PIECES, LEAST_PIECES = 30_522, 1000  # word pieces of BERT, and of every encoder at least
BYTES = 4  # of a weight


def _tokens(folder_tasks: Sequence[FolderTask]) -> int:
    """Return about how many tokens a row has: words and marks, and a third more for words of several pieces."""
    counts: list[int] = []
    for of_task in folder_tasks:
        for row in of_task.rows["train"][:COUNTED]:
            counts.append(len(WORDS.findall(f"{row.sentence1} {row.sentence2 or ''}")))
    return 3 + round(4 / 3 * sum(counts) / len(counts))


def in_words(
    encoder: EncoderSettings, variants: Mapping[str, VariantSettings], seeds: int, folder_tasks: Sequence[FolderTask]
) -> str:
    """Return how long the trainings take here at most, by the speed of a few seconds of steps, and what they store."""
    first = next(iter(variants.values()))
    backbone = _backbone(encoder)
    adapters = [*_adapters_in_words(variants, backbone)]
    model = build_model(first, backbone, 1)
    gigabytes = BYTES * _weights(model) * len(variants) * seeds / 2**30
    seconds = _seconds_of_a_step(model, first, min(_tokens(folder_tasks), first.model.max_tokens))
    rows = {of_task.task.name: len(of_task.rows["train"]) for of_task in folder_tasks}
    steps = sum(_steps(settings, rows) for settings in variants.values()) * seeds
    on_gpu = torch.cuda.is_available()
    jobs = 1 if on_gpu else min(JOBS, starting.cores())
    minutes = seconds * steps / jobs / 60
    device = "its GPU" if on_gpu else f"{jobs} cores"
    text = (
        f"At most about {_time_in_words(minutes)} on {device} of this machine, if nothing else runs: {steps:,} steps "
        f"of {1000 * seconds:,.0f} ms; early stopping may end sooner. "
        f"About {gigabytes:,.1f} GB of weights."
    )
    return f"{text}\nAdapters' weights, in millions: {'; '.join(adapters)}." if adapters else text


def _time_in_words(minutes: float) -> str:
    if minutes < 1.5:
        return "a minute"
    return f"{minutes:,.0f} minutes" if minutes < 120 else f"{minutes / 60:,.1f} hours"


def _adapters_in_words(variants: Mapping[str, VariantSettings], backbone: Backbone) -> Iterator[str]:
    """Yield the row of each variant that has an adapter, with the adapter's weights."""
    for settings in variants.values():
        if settings.model.adapter.name != "none":
            adapter = build_model(settings, backbone, 1).adapter
            yield f"{settings.row} {_weights(adapter) / 1e6:.2f}"


def _weights(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _steps(settings: VariantSettings, rows: Mapping[str, int]) -> int:
    """Return at most how many steps a training has, by the rows of train of each task."""
    steps = 0
    for phase in settings.phases:
        turns = 0
        for name in phase.tasks:
            turns += phase.turns(settings.described[name], (1 - phase.spared) * rows[name])
        steps += phase.epochs * (phase.epoch_length.steps or turns)
    return steps


def _seconds_of_a_step(model: MultitaskModel, settings: VariantSettings, tokens: int) -> float:
    """Train a model for some steps on made-up rows of so many tokens, in the precision of a training."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    on = Hardware(device, hardware.precision(settings.run.precision, device))
    now = time.thread_time if device.type == "cpu" else time.perf_counter  # other programs on a CPU do not count
    model.to(device).train()
    optimiser = torch.optim.AdamW(model.parameters())
    size, name = settings.phases[0].batch_size, settings.tasks[0]
    described = settings.described[name]
    shape = (size, described.classes) if described.several else (size,)
    sequences = 2 if settings.model.is_apart(described) else 1
    per_sequence = math.ceil(tokens / sequences)
    ids = torch.from_numpy(seeding.stream(1, "study").integers(5, LEAST_PIECES, (sequences * size, per_sequence)))
    mask, types, labels = torch.ones_like(ids), torch.zeros_like(ids), torch.zeros(shape)
    batch = Batch(name, ("",) * size, ids, mask, types, labels, sequences).to(device)
    torch.set_num_threads(settings.run.threads)
    ends: list[float] = []
    while len(ends) < LEAST or ends[-1] - ends[0] < TRIED:  # the first step is slower
        with on.autocast():
            loss = model.loss(batch, model(batch))
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        ends.append(now())
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def _backbone(encoder: EncoderSettings) -> Backbone:
    """Return an encoder of such sizes with random weights, since its files may not be here yet."""
    if encoder.folder:
        architecture, config = read_config(encoder.folder)
        return architecture(config)
    is_tiny = encoder.source is SOURCES[TINY]
    width = encoder.known_width or encoder.width
    return Bert(
        Config(
            vocab_size=encoder.vocabulary if is_tiny else PIECES,
            hidden_size=width,
            num_hidden_layers=encoder.known_layers,
            num_attention_heads=encoder.heads if is_tiny else 12,
            intermediate_size=encoder.feed_forward if is_tiny else 4 * width,
            max_position_embeddings=encoder.positions,
        )
    )
