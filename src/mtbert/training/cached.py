"""Train heads on embeddings that a frozen encoder computes once for each example, not once in each epoch.

What it does: where a phase trains nothing before the connector, and a pass up to there draws no random numbers, the
phase begins with one pass over its training rows and dev, and all steps and evaluations read what that left in
`Examples.memo`. A batch then brings its embeddings (`Batch.pooled`), and neither loop nor model knows of this.

The results are those of a training without it, but for the last digits: an embedding is computed in another batch,
whose length and rows decide in which order sums are added. It is the same one wherever a training resumes, since these
batches do not depend on the steps.

Symbols: an embedding is a sequence's pooled hidden state, [width]: 1.5 KB of MiniLM, 3 KB of BERT-base.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import nn
from tqdm import tqdm

from mtbert import seeding
from mtbert.command import starting
from mtbert.data.batches import Examples
from mtbert.models.encoder.hardware import Hardware
from mtbert.models.multitask import MultitaskModel
from mtbert.tasks import Split
from mtbert.training import evaluation
from mtbert.training.checkpoints import random_state
from mtbert.training.phases import Phase

LIMIT = 2 * 2**30  # bytes of embeddings: 1.4 million sequences of MiniLM, 700,000 of BERT-base
Build = Callable[[], Phase]


def with_memos(
    builds: Sequence[Build],
    model: MultitaskModel,
    examples: Mapping[Split, Mapping[str, Examples]],
    seed: int,
    hardware: Hardware,
) -> list[Build]:
    """Return the functions that build phases; each also fills the memos of the examples for its phase, or clears them.

    A GPU that records steps does without memos: its steps are as short as its processor can start them.
    """
    return [partial(_built, build, model, examples, seed, hardware) for build in builds]


def _built(
    build: Build,
    model: MultitaskModel,
    examples: Mapping[Split, Mapping[str, Examples]],
    seed: int,
    hardware: Hardware,
) -> Phase:
    phase = build()
    for by_task in examples.values():
        for of_task in by_task.values():
            of_task.memo.clear()  # the phase before may have trained the encoder
    if not hardware.records and is_fixed(phase, model, hardware):
        fill([*_repeated(phase, seed), *examples["dev"].values()], model, hardware)
    return phase


def is_fixed(phase: Phase, model: MultitaskModel, hardware: Hardware) -> bool:
    """Return whether embeddings stay as they are in a phase, and nothing but the heads' losses reads a batch."""
    parts: list[nn.Module] = [model.encoder, model.features, model.adapter]
    if phase.objectives or any(parameter.requires_grad for part in parts for parameter in part.parameters()):
        return False
    examples = next(iter(phase.streams.values())).examples
    batch = examples.batch([0]).to(hardware.device)
    before = random_state(hardware.device)
    model.train()
    with torch.no_grad(), hardware.autocast():
        model.pooled(batch)
    after = random_state(hardware.device)
    return all(torch.equal(before[kind], after[kind]) for kind in before)


def _repeated(phase: Phase, seed: int) -> list[Examples]:
    """Return the training examples of the tasks that the phase sees more than once."""
    turns = Counter[str]()
    for epoch in range(1, phase.settings.epochs + 1):
        groups = phase.sampler.groups(epoch, seeding.stream(seed, "sampler", phase.number, epoch))
        turns.update(name for group in groups for name in group)
    return [stream.examples for name, stream in phase.streams.items() if turns[name] > stream.batches_per_pass]


@torch.no_grad()
def fill(every: Sequence[Examples], model: MultitaskModel, hardware: Hardware) -> None:
    """Compute the embeddings of these examples, as far as LIMIT allows; leave the model in evaluation mode."""
    model.eval()
    fitting, size = list[Examples](), 0
    for examples in every:
        needed = 4 * len(examples.memo.filled) * len(examples.rows[0]) * model.encoder.width
        if size + needed > LIMIT:
            print(
                f"{examples.task.name}: embeddings are computed in each epoch, since all need {needed / 2**30:.1f} GiB"
            )
            continue
        size += needed
        fitting.append(examples)
    total = sum(map(len, fitting))
    with (
        tqdm(total=total, unit="row", desc="embeddings", mininterval=starting.SHOWN_EVERY, disable=not total) as bar,
        hardware.autocast(),
    ):
        for examples in fitting:
            for picks, batch in examples.in_order(evaluation.batch_size(hardware.device)):
                pooled = model.pooled(batch.to(hardware.device)).unflatten(0, (batch.sequences, -1)).transpose(0, 1)
                examples.memo.write(examples.numbers[picks], pooled)
                bar.update(len(batch))
