"""Where a step is computed: on a CPU as it comes; on a GPU, where it can be, as a CUDA graph, started as a whole.

A step of few short sequences is a thousand small kernels, and the processor takes longer to start each than the GPU to
run it. A CUDA graph is such a sequence of kernels, recorded once and started by one call (PyTorch, *CUDA graphs*). It
computes with the same memory each time: batches are written into tensors of their own, numbers are read from others.

The first step of each kind (its tasks, and the shapes of their batches) runs as it comes, so that libraries choose
their kernels; the second is recorded, and all from there on are started. A recorded step draws the same random
numbers and ends in the same bytes as one that is not.

What Python computes is recorded as a constant. So a phase's steps are recorded only if all that changes in its
techniques lies on the GPU, which `Stateful.changes` tells, and if its first step waits for no number: techniques need
not know of any of this.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.models.encoder.hardware import Hardware
from mtbert.training.phases import Phase
from mtbert.training.states import device_types

WAITS = "called a synchronizing CUDA operation"  # PyTorch's words, in its debug mode
DEBUGS = "debug mode is a prototype"  # its words when that is turned on

Batches = Mapping[str, Batch]
Compute = Callable[[Batches], Any]  # a step, from its batches to what has a method `copied`
Start = Callable[[], object]


class Recorder(Protocol):
    """What records steps: CudaGraphs."""

    def watch(self, compute: Callable[[], Any]) -> tuple[Any, str]:
        """Run a step as it comes; return its result, and why it cannot be recorded, in words, or nothing."""
        ...

    def record(self, compute: Callable[[], Any]) -> tuple[Any, Start]:
        """Record a step; return the result that each start leaves, and what starts it."""
        ...


@dataclass(frozen=True)
class Recorded:
    """A recorded step: the batches that it reads, what it computes, and what starts it."""

    batches: Batches
    result: Any
    start: Start


class Steps:
    """The steps of one phase.

    Attributes:
        recorder: records steps; None where they run as they come.
        recorded: the recorded steps, by kind.
        seen: the kinds of steps that have run.
    """

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder = recorder
        self.recorded: dict[Any, Recorded] = {}
        self.seen: set[Any] = set()

    def run(self, batches: Batches, compute: Compute) -> Any:
        """Compute a step whose batches are on the device; what comes back is not touched by later steps."""
        if self.recorder is None:
            return compute(batches)
        kind = tuple((name, *batch.input_ids.shape, len(batch)) for name, batch in batches.items())
        if kind not in self.seen:
            self.seen.add(kind)
            result, why_not = self.recorder.watch(partial(compute, batches))
            if why_not:
                print(f"steps are started one kernel at a time: {why_not}")
                self.recorder = None
            return result
        if kind not in self.recorded:
            result, start = self.recorder.record(partial(compute, batches))
            self.recorded[kind] = Recorded(batches, result, start)
        step = self.recorded[kind]
        write(batches, step.batches)
        step.start()
        return step.result.copied()


def steps_of(phase: Phase, hardware: Hardware) -> Steps:
    """Return what computes a phase's steps, and say where a GPU could not record them."""
    if not hardware.records:
        return Steps()
    parts = {"weighting": phase.weighting, "gradients": phase.rule, **phase.objectives}
    here = [name for name, part in parts.items() if device_types(part) - {hardware.device.type}]
    if here:
        print(f"steps are started one kernel at a time: {', '.join(here)} keeps numbers on the processor")
        return Steps()
    return Steps(CudaGraphs([objective.generator for objective in phase.objectives.values()]))


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
        waits = [warning for warning in caught if WAITS in str(warning.message)]
        for other in (warning for warning in caught if warning not in waits and DEBUGS not in str(warning.message)):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        return result, f"{waits[0].filename}, line {waits[0].lineno}, waits for a number" if waits else ""

    def record(self, compute: Callable[[], Any]) -> tuple[Any, Start]:
        """Record a step on the stream that is in use."""
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph, self.pool, torch.cuda.current_stream()):
            result = compute()
        return result, graph.replay
