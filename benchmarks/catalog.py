"""Every variant of the catalog at BERT-base's size, as profile `paper` trains it: `python benchmarks/catalog.py`.

The encoder has BERT-base's shape and random weights. Each kind of step of a variant's plan is trained on the CPU with
1 and with 2 examples, as long as the longest of their corpora. What a step computes, and what it keeps for its backward
pass, grows with the examples by what lies between the two. So both are told for the plan's own batches:

- memory: the most that was resident, and what batches of the plan's size keep more. Rows of the longest are assumed.
- time: matrix products alone, of rows of the corpora's mean length, by a stated speed. Predictions are not counted.

Rows go into a CSV as they come. A variant that the file has already is not run again.
"""

import argparse
import contextlib
import gc
import io
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import memory
import ours
import pandas as pd
import record
import torch
from corpus import vocabulary
from steps import SHAPES
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from mtbert import seeding
from mtbert.config import resolve
from mtbert.config.params import Params
from mtbert.data import tokens
from mtbert.data.batches import Batch, Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.learning.samplers.base import Group
from mtbert.machine import hardware
from mtbert.machine.program import report_errors
from mtbert.models.encoder import architectures
from mtbert.pretrained import loading, tiny
from mtbert.training import assembly
from mtbert.training.checkpoints import Checkpoint
from mtbert.training.history import History
from mtbert.training.loop import Trainer
from mtbert.training.phases import Phase
from mtbert.training.stopping import Stop
from mtbert.variants.building import build_model
from mtbert.variants.settings import VariantSettings

PARAMS = Path(__file__).parents[1] / "params.yaml"
FEW, MORE = 1, 2  # examples of the two batches of each kind
TWICE = (0, 1)  # so often with the plan's batches: only from the second step on are there moments
SEED = 1
# Stated, not measured: FLOP a second of a GPU, a sixth of an A100's bf16 peak, and the least seconds of a step on one,
# whose many small kernels have to be launched. Measured (README, BERT-base, `plain`): FLOP a second of these two cores.
GPU, LEAST, CPU = 50e12, 0.03, 0.46e12


@dataclass(frozen=True)
class Size:
    """A training corpus: its rows, and the mean and the longest sequence, for pairs in one sequence and apart."""

    rows: int
    cross: tuple[float, int]
    bi: tuple[float, int]


# Rows of the originals; lengths as in lengths.json, and counted alike for the others.
SIZES = {
    "sst": Size(8_544, (25.0, 80), (25.0, 80)),
    "qqp": Size(141_498, (29.7, 512), (15.3, 512)),
    "sts": Size(6_040, (28.4, 125), (14.7, 70)),
    "cfimdb": Size(1_707, (224.1, 512), (224.1, 512)),
    "snli_as_qqp": Size(366_603, (25.0, 125), (13.0, 88)),
}
SIZES["cfimdb_as_sst"] = SIZES["cfimdb"]


class Corpus(Examples):
    """As many examples as the largest batch needs, each as long as the longest, which count as the whole corpus."""

    def __init__(self, name: str, settings: VariantSettings, special: SpecialTokens, count: int) -> None:
        size, model, task = SIZES[name], settings.model, settings.task_of(name)
        mean, longest = getattr(size, model.pair_encoding)
        self.longest, self.rows_of_all = min(longest, model.max_tokens), size.rows
        self.mean = min(mean, self.longest)
        words = self.longest - 2
        if model.pair_encoding == "cross" and task.is_pair:
            second = words // 2
            first = words - second - 1
        else:
            first = second = words
        drawn = seeding.stream(SEED, "words", name).integers(5, 200, (count, first + second)).tolist()
        table = {
            "id": [f"{name}-{number}" for number in range(count)],
            "label": [float(number % 2) for number in range(count)],
            "tokens1": [row[:first] for row in drawn],
            "tokens2": [row[first:] for row in drawn],
        }
        super().__init__(table, task, model.pair_encoding, special, model.max_tokens)

    def __len__(self) -> int:
        return self.rows_of_all

    def drawn(self, count: int | None) -> "Corpus":
        """All of them."""
        return self


class Sized:
    """Batches of stated sizes, one after the other."""

    def __init__(self, examples: Corpus, sizes: Sequence[int]) -> None:
        self.examples, self.sizes = examples, iter(sizes)

    def next(self) -> Batch:
        """The next batch."""
        return self.examples.batch(range(next(self.sizes)))


class GraphMemory:
    """Bytes that graphs keep for backward passes: now, and the most since `reset`. Weights do not count."""

    def __init__(self, model: nn.Module) -> None:
        self.weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
        self.holders, self.now, self.most = Counter[int](), 0, 0

    def hold(self, tensor: Tensor) -> "GraphTensor":
        """Keep a tensor for a graph."""
        return GraphTensor(self, tensor)

    def reset(self) -> int:
        """Return the most so far, and begin anew."""
        most, self.most = self.most, self.now
        return most


class GraphTensor:
    """A tensor that a graph keeps; several may share their storage."""

    def __init__(self, graph_memory: GraphMemory, tensor: Tensor) -> None:
        self.graph_memory, self.tensor = graph_memory, tensor
        self.storage = tensor.untyped_storage()
        self.change(1)

    def change(self, by: int) -> None:
        """Count a holder of the storage more or less."""
        graph_memory, address = self.graph_memory, self.storage.data_ptr()
        if address in graph_memory.weights:
            return
        graph_memory.holders[address] += by
        if graph_memory.holders[address] == max(by, 0):  # the first has come or the last has gone
            graph_memory.now += by * self.storage.nbytes()
            graph_memory.most = max(graph_memory.most, graph_memory.now)

    def __del__(self) -> None:
        self.change(-1)


@dataclass
class Step:
    """A kind of step: its tasks, how often it comes in the plan, its batches' size, and what FEW and MORE took."""

    group: Group
    times: int
    size: int
    flops: list[int]
    kept: list[int]

    def whole(self, measured: Sequence[int]) -> float:
        """What it takes with the plan's batches, from what FEW and MORE examples took."""
        with_few, with_more = measured
        return with_few + (with_more - with_few) / (MORE - FEW) * (self.size - FEW)


def settings_of(params: Params, name: str) -> VariantSettings:
    """A variant as the plan has it, but for dev scores and files, which the steps do without."""
    document, faults = resolve.variant(params, name)
    assert document is not None, params.format_faults(faults)
    document["run"] |= {"device": "cpu", "keep": "last", "evaluations": 0, "checkpoint_every": 0}
    return VariantSettings.model_validate(document)


def variant(params: Params, name: str, encoder: Path, whole: bool) -> dict[str, Any]:
    """A variant's row; with `whole` it is also trained with the plan's own batches, and their memory measured."""
    settings, special = settings_of(params, name), tokens.special_tokens(encoder)
    model = build_model(settings, architectures.read(encoder), SEED, tokens.vocabulary(encoder), special)
    for weight in model.parameters():
        weight.data = weight.data.clone()  # else it is the file's pages, which are resident or not
    model.train_only([])
    names = sorted({*settings.tasks, *(task for phase in settings.phases for task in phase.tasks)})
    batches = [size for phase in settings.phases for size in (phase.batch_size, *phase.batch_sizes.values())]
    examples = {task: Corpus(task, settings, special, max(MORE, *batches, 0)) for task in names}
    weight_bytes = sum(weight.numel() * weight.element_size() for weight in model.parameters())

    def run(sizes: tuple[int, ...] | None) -> tuple[list[Step], float]:
        """Train the kinds of steps; return them, and the most that was resident, in GiB."""
        steps: list[Step] = []
        peak = memory.peak(lambda: steps.extend(train(settings, model, examples, sizes)))
        return steps, (weight_bytes + (peak or 0) * 2**20) / 2**30

    steps, resident = run((FEW, MORE))
    kept_by_plan = max((step.whole(step.kept) for step in steps), default=0)
    kept_by_more = max((step.kept[1] for step in steps), default=0)
    flops = [step.whole(step.flops) * _shorter(step, examples) for step in steps]
    row = {
        "variant": name,
        "batch": max(batches, default=None),
        "steps": sum(step.times for step in steps),
        **{f"{kind} weights": count for kind, count in sizes_of(settings, model).items()},
        "GiB": resident + (kept_by_plan - kept_by_more) / 2**30,
        "measured GiB": run(None)[1] if whole else None,
        "PFLOP": sum(step.times * flop for step, flop in zip(steps, flops, strict=True)) / 1e15,
        "GPU hours": sum(step.times * max(flop / GPU, LEAST) for step, flop in zip(steps, flops, strict=True)) / 3600,
        "CPU hours": sum(step.times * flop / CPU for step, flop in zip(steps, flops, strict=True)) / 3600,
    }
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}


def sizes_of(settings: VariantSettings, model: Any) -> dict[str, int]:
    """Weights beside the encoder, and the most that a phase trains."""
    trained = [sum(p.numel() for p in model.train_only(ph.trainable, ph.frozen)) for ph in settings.phases]
    return {"added": model.sizes(settings.phases)["added"], "trained": max(trained, default=0)}


def _shorter(step: Step, examples: Mapping[str, Corpus]) -> float:
    """How many times as many tokens the corpora's longest rows have as their mean ones, in a step; inverted."""
    return sum(examples[task].mean for task in step.group) / sum(examples[task].longest for task in step.group)


def train(
    settings: VariantSettings, model: Any, examples: Mapping[str, Corpus], sizes: tuple[int, ...] | None
) -> list[Step]:
    """Train each kind of step with batches of each of these sizes, or of the plan's; return what each took."""
    cpu = torch.device("cpu")
    on = hardware.Hardware(cpu, hardware.precision("auto", cpu))
    graph_memory = GraphMemory(model)
    steps: list[Step] = []
    due: list[Step] = []

    def shortened(build: Callable[[], Phase]) -> Phase:
        phase = build()
        phase_steps = kinds(phase)
        in_order = [step for step in phase_steps for _ in sizes or TWICE]
        steps.extend(phase_steps)
        due.extend(in_order)
        phase.sampler = ours.Fixed([{task: [] for task in step.group} for step in in_order])
        for task in phase.settings.tasks:
            kind_sizes = sizes or [size_of(phase, task)] * len(TWICE)
            phase.streams[task] = Sized(examples[task], [*kind_sizes] * len(phase_steps))  # type: ignore[assignment]
        phase.settings = phase.settings.model_copy(update={"epochs": 1})
        return phase

    class Measured(Trainer):
        def _step(self, phase: Phase, group: Sequence[str], bar: Any) -> None:
            super()._step(phase, group, bar)
            step = due.pop(0)
            step.kept.append(graph_memory.reset())
            step.flops.append(counter.get_total_flops() - sum(sum(other.flops) for other in steps))

    with tempfile.TemporaryDirectory() as scratch, FlopCounterMode(display=False) as counter:
        nowhere, history = Checkpoint(Path(scratch), "benchmark"), History(1000, lambda *_: None)
        trainer = Measured(model, settings.run, settings.described, on, history, {}, SEED, nowhere, Stop())
        hooks = torch.autograd.graph.saved_tensors_hooks(graph_memory.hold, lambda graph_tensor: graph_tensor.tensor)
        with hooks, contextlib.redirect_stderr(io.StringIO()):  # its progress bar
            trainer.run([partial(shortened, build) for build in assembly.phases(settings, SEED, model, examples)], 1)
    return steps


def kinds(phase: Phase) -> list[Step]:
    """The kinds of steps in a phase's plan."""
    times = Counter[Group]()
    for epoch in range(1, phase.settings.epochs + 1):
        times.update(phase.sampler.groups(epoch, seeding.stream(SEED, "sampler", phase.number, epoch)))
    return [
        Step(group, count, max(size_of(phase, task) for task in group), [], [])
        for group, count in sorted(times.items())
    ]


def size_of(phase: Phase, task: str) -> int:
    """Examples of a task in one of the plan's batches."""
    return phase.settings.batch_sizes.get(task, phase.settings.batch_size)


def main() -> None:
    """Read the arguments, go through the catalog."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="VARIANT")
    parser.add_argument(
        "--whole", nargs="+", metavar="VARIANT", default=[], help="measured with the plan's batches, too"
    )
    parser.add_argument("--shape", choices=["base", "tiny"], default="base")
    parser.add_argument("--csv", type=Path, default=Path("build/catalog.csv"), help="where rows go as they come")
    parser.add_argument("--record", type=Path, help="keep the results in results.json and README.md of this folder")
    arguments = parser.parse_args()
    hardware.keep_memory()
    params = Params(PARAMS).put(("profile",), "paper").put(("pos", "tagger"), "shipped")
    names = arguments.only or list(params.get("catalog"))
    earlier = pd.read_csv(arguments.csv) if arguments.csv.exists() else pd.DataFrame()
    rows = earlier.astype(object).where(earlier.notna(), None).to_dict("records")
    arguments.csv.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        config, encoder = SHAPES[arguments.shape].config(), Path(scratch) / "encoders/base"
        ours.write_build(Path(scratch), config, {})
        # One piece goes on a word, as part-of-speech features need.
        tokenizer = tiny.tokenizer([*vocabulary(config.vocab_size - 1), "##s"])
        loading.save_tokenizer(tokenizer, config.max_position_embeddings, encoder)
        for name in [name for name in names if name not in {row["variant"] for row in rows}]:
            rows.append(variant(params, name, encoder, name in arguments.whole))
            pd.DataFrame(rows).to_csv(arguments.csv, index=False)
            print(rows[-1], flush=True)
            gc.collect()
    rows = [row for row in rows if row["variant"] in names]
    print(record.table(rows))
    if arguments.record:
        speeds = {"GPU": GPU, "least": LEAST, "CPU": CPU}
        record.keep(arguments.record, "catalog", {"speeds": speeds, "rows": rows}, {"Variants:": rows})


if __name__ == "__main__":
    with report_errors():
        main()
