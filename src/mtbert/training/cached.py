"""Train heads on embeddings that a frozen encoder computes once for each example, not once in each epoch.

What it does: where a phase trains nothing before the connector, and a pass up to there draws no random numbers, the
phase begins with one pass over its training rows and dev, and all steps and evaluations read what that left in
`Examples.memo`. A batch then brings its embeddings (`Batch.pooled`), and neither loop nor model knows of this.

The results are those of a training without it, but for the last digits: an embedding is computed in another batch,
whose length and rows decide in which order sums are added. It is the same one wherever a training resumes, since these
batches do not depend on the steps.

Embeddings that any training of this build folder needs again, such as that of the next seed, lie in `build/cache`, by a
digest of all that they depend on: weights, rows, code, device and precision. They can be removed at any time.

Symbols: an embedding is a sequence's pooled hidden state, [width]: 1.5 KB of MiniLM, 3 KB of BERT-base.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from tqdm import tqdm

from mtbert import files, layout, seeding
from mtbert.data.batches import Examples
from mtbert.machine import starting
from mtbert.machine.hardware import Hardware, processor
from mtbert.models.multitask import MultitaskModel
from mtbert.training import evaluation
from mtbert.training.checkpoints import random_state
from mtbert.training.phases import Phase

LIMIT = 2 * 2**30  # bytes of embeddings: 1.4 million sequences of MiniLM, 700,000 of BERT-base


def store(build: Path, shared_code: str, sources: Mapping[str, str]) -> Path | None:
    """Return the folder of embeddings that were computed by the code of now; None where that is unknown.

    Args:
        build: the build folder.
        shared_code: a digest of the code that all trainings share; empty where it is unknown.
        sources: the digests of the files that the variant's techniques use.
    """
    if not shared_code:
        return None
    return (
        layout.cache(build, "embeddings")
        / files.sha256_of(f"{shared_code} {sorted(sources.items())}".encode())[: layout.KEY]
    )


def with_memos(
    builds: Sequence[Callable[[], Phase]],
    model: MultitaskModel,
    scored: Sequence[Examples],
    seed: int,
    hardware: Hardware,
    store: Path | None = None,
) -> list[Callable[[], Phase]]:
    """Return the functions that build phases; each also fills or clears the memos of its examples and the scored ones.

    A GPU that records steps does without memos: its steps are as short as its processor can start them. `store` is the
    folder of what trainings with the same code have computed; None for none.
    """
    return [partial(_built, build, model, scored, seed, hardware, store) for build in builds]


def _built(
    build: Callable[[], Phase],
    model: MultitaskModel,
    scored: Sequence[Examples],
    seed: int,
    hardware: Hardware,
    store: Path | None,
) -> Phase:
    phase = build()
    for examples in (*(stream.examples for stream in phase.streams.values()), *scored):
        examples.memo.clear()  # the phase before may have trained the encoder
    if not hardware.records and _is_fixed(phase, model, hardware):
        _fill([*_repeated(phase, seed), *scored], model, hardware, store)
    return phase


def _is_fixed(phase: Phase, model: MultitaskModel, hardware: Hardware) -> bool:
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


def _fill(every: Sequence[Examples], model: MultitaskModel, hardware: Hardware, store: Path | None = None) -> None:
    """Write the memos of these examples, as far as LIMIT allows; leave the model in evaluation mode."""
    model.eval()
    weights = _digest_of_weights(model) if store else ""
    size = 0
    for examples in every:
        if examples.memo.filled[examples.numbers].all():  # as part of others
            continue
        needed = 4 * len(examples.memo.filled) * len(examples.rows[0]) * model.encoder.width
        if size + needed > LIMIT:
            print(f"{examples.task.name}: embeddings are computed in each epoch: all need {needed / 2**30:.1f} GiB")
            continue
        size += needed
        file = store / f"{_key(examples, model, hardware, weights)}.safetensors" if store else None
        pooled = _read(file) if file else None
        if pooled is None:
            pooled = _computed(examples, model, hardware)
            if file:
                with files.new_file(file) as partial_file:
                    save_file({"pooled": pooled}, partial_file)
        examples.memo.write(examples.numbers, pooled)


@torch.no_grad()
def _computed(examples: Examples, model: MultitaskModel, hardware: Hardware) -> Tensor:
    """Return the embeddings of examples, [examples, sequences, width], on the CPU."""
    rows: list[Tensor] = []
    order: list[int] = []
    about = {"total": len(examples), "unit": "row", "desc": f"embeddings of {examples.task.name}"}
    with tqdm(**about, mininterval=starting.SHOWN_EVERY) as bar, hardware.autocast():
        for picks, batch in examples.in_order(evaluation.batch_size(hardware.device)):
            pooled = model.pooled(batch.to(hardware.device))
            rows.append(pooled.unflatten(0, (batch.sequences, -1)).transpose(0, 1).cpu())
            order += picks.tolist()
            bar.update(len(batch))
    return torch.cat(rows)[np.argsort(order)].contiguous()


def _read(file: Path) -> Tensor | None:
    """Return the embeddings in a file; None where there is none, or one that is damaged."""
    if not file.is_file():
        return None
    try:
        return load_file(file)["pooled"]
    except (SafetensorError, KeyError):  # they are computed again
        return None


def _digest_of_weights(model: MultitaskModel) -> str:
    """Return a digest of all weights before the connector."""
    digest = hashlib.sha256()
    for part in (model.encoder, model.features, model.adapter):
        for name, weights in sorted(part.state_dict().items()):
            digest.update(f"{name} {weights.dtype} {list(weights.shape)}".encode())
            digest.update(weights.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _key(examples: Examples, model: MultitaskModel, hardware: Hardware, weights: str) -> str:
    """Return a digest of all that the embeddings of these examples depend on, but for the code."""
    task, device = examples.task.name, hardware.device
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else processor()
    about = [task, model.pooling[task], model.encoder.typed, kind, hardware.precision, torch.__version__]
    digest = hashlib.sha256(f"{weights} {about} {torch.get_num_threads()}".encode())
    for sequences in examples.rows:
        for row in sequences:
            digest.update(f"{len(row.ids)} {row.second} ".encode())
            digest.update(np.asarray(row.ids, np.int32).tobytes())
    return digest.hexdigest()
