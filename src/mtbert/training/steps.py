"""How a step is computed: on a CPU kernel by kernel; on a GPU, where possible, as a CUDA graph that is started whole.

A step of few short sequences is a thousand small kernels, and the processor takes longer to start each than the GPU to
run it. A CUDA graph is such a sequence of kernels, recorded once and started by one call (PyTorch, *CUDA graphs*). It
computes with the same memory each time: batches are written into tensors of their own, numbers are read from others.

The first step of each kind (its tasks, and the shapes of their batches) runs kernel by kernel, so that libraries choose
their kernels. The second is recorded, and all later ones replay it. A recorded step draws the same random numbers as
another, and ends in the same bytes. So that there are few kinds, all batches of a step are as long as its longest.

What Python computes is recorded as a constant. So a phase's steps are recorded on three conditions: all that changes in
its techniques is on the GPU, as `Stateful.changes` tells; its first step waits for no number; and its second step
leaves all numbers and texts as they are that are attributes of its techniques and of the model's modules. Techniques
need not know of this.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.learning.states import device_types
from mtbert.machine import streams
from mtbert.machine.hardware import Hardware
from mtbert.training.phases import Phase

WAITS = "called a synchronizing CUDA operation"  # PyTorch's words, in its debug mode
DEBUGS = "debug mode is a prototype"  # its words when that is turned on


@dataclass(frozen=True)
class _Recorded:
    """A recorded step: the batches that it reads, the result that it leaves, and what replays it."""

    batches: Mapping[str, Batch]
    result: Any
    replay: Callable[[], object]


class StepRunner:
    """Computes the steps of one phase.

    Attributes:
        recorder: records steps; None where they run kernel by kernel.
        parts: what steps read, by name: techniques, and the model's modules.
        pads: whether all batches of a step have one length, whatever becomes of the recorder: a training that resumes
            ends in the same bytes.
        recorded: the recorded steps, by kind.
        watched: the kinds of steps that have run kernel by kernel.
        begun: steps that have begun, and `constants` of the parts behind the first.
    """

    def __init__(self, recorder: "CudaGraphs | None" = None, parts: Mapping[str, Any] | None = None) -> None:
        self.recorder = recorder
        self.parts = parts or {}
        self.pads = recorder is not None
        self.recorded: dict[Any, _Recorded] = {}
        self.watched: set[Any] = set()
        self.begun = 0
        self.constants: dict[str, Any] = {}

    def padded(self, batches: Mapping[str, Batch]) -> Mapping[str, Batch]:
        """Return the batches of a step in the length of its longest, where steps are recorded."""
        if not self.pads:
            return batches
        tokens = max(batch.input_ids.shape[1] for batch in batches.values())
        return {name: batch.padded(tokens) for name, batch in batches.items()}

    def run(self, batches: Mapping[str, Batch], compute: Callable[[Mapping[str, Batch]], Any]) -> Any:
        """Compute a step whose batches are on the device; later steps leave its result as it is.

        Args:
            batches: of the step.
            compute: makes of these batches what has a method `copied`.
        """
        if self.recorder is not None:
            self._compare_constants()
        if self.recorder is None:
            return compute(batches)
        kind = tuple((name, *batch.input_ids.shape, len(batch)) for name, batch in batches.items())
        if kind not in self.watched:
            self.watched.add(kind)
            result, why_not = self.recorder.watch(partial(compute, batches))
            if why_not:
                self._give_up(why_not)
            return result
        if kind not in self.recorded:
            result, replay = self.recorder.record(partial(compute, batches))
            self.recorded[kind] = _Recorded(batches, result, replay)
        step = self.recorded[kind]
        write(batches, step.batches)
        step.replay()
        return step.result.copied()

    def _compare_constants(self) -> None:
        """Give up where the second step has changed what recorded steps keep as it was."""
        self.begun += 1
        if self.begun == 2:
            self.constants = constants(self.parts)
        if self.begun == 3:
            now = constants(self.parts)
            changed = [name for name, value in now.items() if value != self.constants.get(name)]
            if changed:
                self._give_up(f"{', '.join(changed)} is computed by Python and changes between steps")

    def _give_up(self, why: str) -> None:
        """Run the phase's other steps kernel by kernel."""
        print(f"steps are started one kernel at a time: {why}")
        self.recorder = None
        self.recorded.clear()  # and give back their memory


def constants(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers and texts among the attributes of parts, which a recorded step keeps as they were."""
    attributes = [(f"{name}.{key}", value) for name, part in parts.items() for key, value in vars(part).items()]
    return {name: value for name, value in attributes if isinstance(value, int | float | str)}


def runner_of(phase: Phase, hardware: Hardware, model: nn.Module) -> StepRunner:
    """Return what computes a phase's steps, and say where a GPU could not record them."""
    if not hardware.records:
        return StepRunner()
    parts = {"weighting": phase.weighting, "gradients": phase.rule, **phase.objectives}
    elsewhere = [name for name, part in parts.items() if device_types(part) - {hardware.device.type}]
    if elsewhere:
        print(f"steps are started one kernel at a time: {', '.join(elsewhere)} keeps numbers on the processor")
        return StepRunner()
    modules = {f"model.{name}": module for name, module in model.named_modules()}
    return StepRunner(CudaGraphs([objective.generator for objective in phase.objectives.values()]), parts | modules)


def write(batches: Mapping[str, Batch], into: Mapping[str, Batch]) -> None:
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
        """Run a step kernel by kernel; return its result, and why it cannot be recorded, or an empty text.

        It cannot where the processor waits for a number of the GPU's.
        """
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

    def record(self, compute: Callable[[], Any]) -> tuple[Any, Callable[[], object]]:
        """Record a step on the current stream; return the result that each replay leaves, and what replays it."""
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
