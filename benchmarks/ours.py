"""The project's own training, through its own assembly and loop: the one place here that knows how to start it."""

import contextlib
import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import memory
import numpy as np
import pandas as pd
import torch
from corpus import Corpus, Plan, vocabulary
from transformers import AutoModel, PretrainedConfig

from mtbert.data.batches import Batch, Examples
from mtbert.learning.samplers.base import Group, Sampler
from mtbert.machine import hardware
from mtbert.pretrained import loading, tiny
from mtbert.training import assembly
from mtbert.training.checkpoints import Checkpoint
from mtbert.training.history import History
from mtbert.training.loop import Trainer
from mtbert.training.phases import Phase
from mtbert.training.run import hardware_of
from mtbert.training.stopping import Stop
from mtbert.variants.settings import VariantSettings

PALS = {"dim": 204, "heads": 12}
ADAPTERS: dict[str, dict[str, int]] = {"pals": PALS, "lora": {"rank": 8}, "houlsby": {"size": 64}}
SEED = 1


@dataclass(frozen=True)
class Kind:
    """What a contestant does otherwise than plain fine-tuning.

    Attributes:
        adapter: what it has in its encoder.
        phase: settings of its training.
        fixed_order: whether a GPU adds up in the same order each time, as in all trainings.
        records: whether a GPU records its steps.
    """

    adapter: str = "none"
    phase: dict[str, Any] = field(default_factory=dict)
    fixed_order: bool = True
    records: bool = True


KINDS = {
    "plain": Kind(),
    **{name: Kind(name) for name in ADAPTERS},
    "smart": Kind(phase={"objectives": [{"name": "smart"}]}),
    "interleaved": Kind(phase={"sampler": {"name": "interleaved"}}),
    "pcgrad": Kind(phase={"sampler": {"name": "interleaved"}, "gradients": {"name": "pcgrad"}}),
}
# What three of them would be without what they do on a GPU alone.
GPU_KINDS = {f"{name}-any-order": replace(KINDS[name], fixed_order=False) for name in ("plain", "pals", "smart")}
GPU_KINDS |= {f"{name}-unrecorded": replace(KINDS[name], records=False) for name in ("plain", "pals", "smart")}


class Fixed(Sampler):
    """The tasks of a plan's steps."""

    def __init__(self, plan: Plan) -> None:
        self.rows: list[Group] = [tuple(step) for step in plan]

    @property
    def steps(self) -> int:
        """Steps of the plan."""
        return len(self.rows)

    def groups(self, epoch: int, generator: np.random.Generator) -> list[Group]:
        """The plan's, every time."""
        return self.rows


class Stamped(Trainer):
    """The project's loop, which tells of each update."""

    stamp: Callable[[], None]

    def _step(self, phase: Phase, group: Sequence[str], bar: Any) -> None:
        super()._step(phase, group, bar)
        self.stamp()


class Served:
    """One task's batches of a plan, over and over, each made when it is needed, as the project's own stream does."""

    def __init__(self, examples: Examples, plan: Plan, task: str, lengths: Sequence[int]) -> None:
        self.examples = examples
        self.lengths = lengths
        self.picks: Iterator[list[int]] = itertools.cycle(step[task] for step in plan if task in step)

    def next(self) -> Batch:
        """The next batch."""
        return self.examples.batch(next(self.picks), self.lengths)


def write_build(build: Path, config: PretrainedConfig, corpora: Mapping[str, Corpus]) -> None:
    """What earlier stages leave below `build`: an untrained encoder of that shape, and the corpora's word pieces."""
    encoder = build / "encoders" / "base"
    torch.manual_seed(SEED)
    loading.silence()
    AutoModel.from_config(config).save_pretrained(encoder)
    loading.save_tokenizer(tiny.tokenizer(vocabulary(config.vocab_size)), config.max_position_embeddings, encoder)
    loading.write_card(encoder, "benchmark", "made here", "")
    for task, corpus in corpora.items():
        ids = [f"{task}-{number}" for number in range(len(corpus.first))]
        table = pd.DataFrame({"id": ids, "label": [float(label) for label in corpus.labels], "tokens1": corpus.first})
        table["tokens2"] = corpus.second
        table["cluster"] = table["hash"] = range(len(table))
        (build / "data" / task).mkdir(parents=True)
        for split in ("train", "dev"):
            table.to_parquet(build / "data" / task / f"{split}.parquet")


def training(
    kind: Kind,
    plan: Plan,
    build: Path,
    size: int,
    device: str,
    adapter: dict[str, Any],
    encoding: Literal["cross", "bi"] = "cross",
    precision: Literal["auto", "bf16", "fp32"] = "auto",
) -> Callable[[Callable[[], None]], None]:
    """A function that trains the whole plan once more, with that adapter in the encoder (`{"name": ...}`).

    It calls its argument after each update.
    """
    tasks = sorted({task for step in plan for task in step})
    pooling = "pooler" if loading.card(build / "encoders" / "base").pooler else "cls"
    settings = VariantSettings(
        variant="benchmark",
        paper=None,
        row="",
        profile="benchmark",
        tasks=tasks,
        model={
            "pair_encoding": encoding,
            "max_tokens": 512,
            "features": {"name": "words"},
            "adapter": adapter,
            "connector": {"name": "direct"},
            "pooling": dict.fromkeys(tasks, pooling),
            "heads": {task: {"name": "linear"} for task in tasks},
        },  # type: ignore[arg-type]
        phases=[
            {
                "tasks": tasks,
                "sampler": {"name": "round_robin"},
                "weighting": {"name": "equal"},
                "gradients": {"name": "total"},
                "schedule": {"name": "constant"},
                "trainable": ["encoder", "adapters", "heads"],
                "batch_size": size,
                "epochs": 1,
                "epoch_length": f"{len(plan)} steps",
                "learning_rate": 2e-5,
                "weight_decay": 0.01,
                "clip": 1.0,
                **kind.phase,
            }
        ],  # type: ignore[arg-type]
        run={
            "device": device,
            "precision": precision,
            "keep": "last",
            "selection": "whole",
            "evaluations": 0,
            "checkpoint_every": 0,
            "record_steps": kind.records,
        },  # type: ignore[arg-type]
        sources={},
    )
    parts = assembly.assemble(settings, SEED, build)
    on = hardware_of(settings, parts.cpu_precision)
    parts.model.to(on.device)
    (build_phase,) = parts.phases
    phase = build_phase()
    phase.sampler = Fixed(plan)
    phase.streams = {  # type: ignore[assignment]
        task: Served(parts.examples["train"][task], plan, task, phase.streams[task].lengths) for task in tasks
    }
    history = History(settings.run.log_every, lambda *_: None)
    nowhere = Checkpoint(build / "checkpoints", "benchmark")

    def run(stamp: Callable[[], None]) -> None:
        trainer = Stamped(parts.model, settings.run, settings.described, on, history, {}, SEED, nowhere, Stop())
        trainer.stamp = stamp
        if on.device.type == "cuda" and kind.fixed_order:
            hardware.repeatable()
        with memory.kept(), contextlib.redirect_stderr(io.StringIO()):  # its progress bar
            trainer.run([lambda: phase], len(plan))
        torch.use_deterministic_algorithms(False)  # others train as they come
        nowhere.clear()

    return run


def device_of(setting: str) -> torch.device:
    """The device that the project takes for `auto`, `cpu`, `cuda` or `mps`."""
    return hardware.device(setting)


def precision_on(setting: Literal["auto", "fp32"], device: torch.device) -> Literal["bf16", "fp32"]:
    """The precision that the project takes there for a setting."""
    return hardware.precision(setting, device)
