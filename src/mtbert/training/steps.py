"""How a step is computed: on a CPU kernel by kernel; on a GPU, where possible, as a CUDA graph that is started whole.

A step of few short sequences is a thousand small kernels, and the processor takes longer to start each than the GPU to
run it. A CUDA graph is such a sequence of kernels, recorded once and started by one call (PyTorch, *CUDA graphs*). It
computes with the same memory each time: batches are written into tensors of their own, numbers are read from others.

The first step of each kind (its tasks, and the shapes of their batches) runs kernel by kernel, so that libraries choose
their kernels. The second is recorded, and all later ones replay it. A recorded step draws the same random numbers as
another, and ends in the same bytes.

What Python computes is recorded as a constant. So a phase's steps are recorded on two conditions: all that changes in
its techniques is on the GPU, as `Stateful.changes` tells, and its first step waits for no number. Techniques need not
know of this.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.learning.states import device_types
from mtbert.models.encoder import streams
from mtbert.models.encoder.hardware import Hardware
from mtbert.training.phases import Phase

WAITS = "called a synchronizing CUDA operation"  # PyTorch's words, in its debug mode
DEBUGS = "debug mode is a prototype"  # its words when that is turned on

Batches = Mapping[str, Batch]
Compute = Callable[[Batches], Any]  # a step, from its batches to what has a method `copied`
Replay = Callable[[], object]


class Recorder(Protocol):
    """What records steps: CudaGraphs."""

    def watch(self, compute: Callable[[], Any]) -> tuple[Any, str]:
        """Run a step kernel by kernel; return its result, and why it cannot be recorded, or an empty text."""
        ...

    def record(self, compute: Callable[[], Any]) -> tuple[Any, Replay]:
        """Record a step; return the result that each replay leaves, and what replays it."""
        ...


@dataclass(frozen=True)
class Recorded:
    """A recorded step: the batches that it reads, the result that it leaves, and what replays it."""

    batches: Batches
    result: Any
    replay: Replay


class StepRunner:
    """Computes the steps of one phase.

    Attributes:
        recorder: records steps; None where they run kernel by kernel.
        recorded: the recorded steps, by kind.
        watched: the kinds of steps that have run kernel by kernel.
    """

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder = recorder
        self.recorded: dict[Any, Recorded] = {}
        self.watched: set[Any] = set()

    def run(self, batches: Batches, compute: Compute) -> Any:
        """Compute a step whose batches are on the device; later steps leave its result as it is."""
        if self.recorder is None:
            return compute(batches)
        kind = tuple((name, *batch.input_ids.shape, len(batch)) for name, batch in batches.items())
        if kind not in self.watched:
            self.watched.add(kind)
            result, why_not = self.recorder.watch(partial(compute, batches))
            if why_not:
                print(f"steps are started one kernel at a time: {why_not}")
                self.recorder = None
            return result
        if kind not in self.recorded:
            result, replay = self.recorder.record(partial(compute, batches))
            self.recorded[kind] = Recorded(batches, result, replay)
        step = self.recorded[kind]
        write(batches, step.batches)
        step.replay()
        return step.result.copied()


def runner_of(phase: Phase, hardware: Hardware) -> StepRunner:
    """Return what computes a phase's steps, and say where a GPU could not record them."""
    if not hardware.records:
        return StepRunner()
    parts = {"weighting": phase.weighting, "gradients": phase.rule, **phase.objectives}
    elsewhere = [name for name, part in parts.items() if device_types(part) - {hardware.device.type}]
    if elsewhere:
        print(f"steps are started one kernel at a time: {', '.join(elsewhere)} keeps numbers on the processor")
        return StepRunner()
    return StepRunner(CudaGraphs([objective.generator for objective in phase.objectives.values()]))


def write(batches: Batches, into: Batches) -> None:
    """Write batches into the tensors of others of the same shapes."""
    for name, batch in batches.items():
        for field in fields(batch):
            value = getattr(batch, field.name)
            target = getattr(into[name], field.name)
            if isinstance(value, Tensor) and value is not target:
                target.copy_(value, non_blocking=True)


class CudaGraphs:
    """Records steps as CUDA graphs, whose memory is one: they run one after the other.

    Args:
        generators: those on the GPU beside PyTorch's own.
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self.generators = generators
        self.pool = torch.cuda.graph_pool_handle()

    def watch(self, compute: Callable[[], Any]) -> tuple[Any, str]:
        """Run a step; it cannot be recorded where the processor waits for a number of the GPU's."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                result = compute()
            finally:
                torch.cuda.set_sync_debug_mode("default")
        why_not = ""
        for warning in caught:
            if WAITS in str(warning.message):
                why_not = why_not or f"{warning.filename}, line {warning.lineno}, waits for a number"
            elif DEBUGS not in str(warning.message):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        return result, why_not

    def record(self, compute: Callable[[], Any]) -> tuple[Any, Replay]:
        """Record a step on the current stream."""
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:
            graph.register_generator_state(generator)
        stream = torch.cuda.current_stream()
        with torch.cuda.graph(graph, self.pool, stream):
            try:
                result = compute()
            except BaseException:  # a stream that is not joined would raise another error in its place
                streams.join(stream.device)
                raise
        return result, graph.replay
