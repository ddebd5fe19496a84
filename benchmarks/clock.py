"""Whole steps timed alike for every trainer, and what they cost: seconds, memory, arithmetic.

A step is what lies between two optimiser updates: fetching the batch, both passes, clipping, the update, bookkeeping.
"""

import contextlib
import gc
import itertools
import time
from collections.abc import Callable, Iterator
from statistics import median

import memory
import torch
from accelerate.state import AcceleratorState, PartialState
from torch.optim.optimizer import register_optimizer_step_post_hook

Now = Callable[[], float]
Stamp = Callable[[], None]


def step_seconds(run: Callable[[Stamp], None], device: torch.device, now: Now = time.perf_counter) -> list[float]:
    """Seconds of every step of `run` but the first; `run` calls its argument after each update.

    On a GPU they are the seconds between two moments of the GPU itself, which nobody has to wait for.
    """
    if device.type != "cuda":
        stamps: list[float] = []
        run(lambda: stamps.append(now()))
        return [after - before for before, after in itertools.pairwise(stamps)]
    events: list[torch.cuda.Event] = []

    def record() -> None:
        events.append(torch.cuda.Event(enable_timing=True))
        events[-1].record()

    run(record)
    torch.cuda.synchronize(device)
    return [before.elapsed_time(after) / 1000 for before, after in itertools.pairwise(events)]


def by_updates(run: Callable[[], object]) -> Callable[[Stamp], None]:
    """Return `run` as a function that calls its argument after each update of any optimiser."""

    def stamped(stamp: Stamp) -> None:
        handle = register_optimizer_step_post_hook(lambda *_: stamp())
        try:
            run()
        finally:
            handle.remove()

    return stamped


def peak_memory(run: Callable[[], None], device: torch.device) -> float | None:
    """MiB that `run` needs at most, above what was held before it; None where the system does not tell.

    Of a GPU it is what PyTorch holds, as a run's log has it: the memory of recorded steps is theirs while no step runs.
    """
    if device.type != "cuda":
        return memory.peak(run)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_reserved(device)
    run()
    return (torch.cuda.max_memory_reserved(device) - before) / 2**20


def matmul_peak(device: torch.device, dtype: torch.dtype, now: Now = time.perf_counter) -> float:
    """Multiplications and additions a second of a square matrix product: the median of ten."""
    size = 8192 if device.type == "cuda" else 1536
    matrix = torch.randn(size, size, device=device).to(dtype)

    def seconds() -> float:
        started = now()
        torch.mm(matrix, matrix)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return now() - started

    seconds()
    return 2 * size**3 / median(seconds() for _ in range(10))


class OwnState:
    """accelerate keeps one state a process; contestants that differ in precision need one each."""

    def __init__(self) -> None:
        self._saved = {state: dict(state._shared_state) for state in (PartialState, AcceleratorState)}

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """The state as it was when this was made."""
        for state, values in self._saved.items():
            state._shared_state.clear()
            state._shared_state.update(values)
        yield
