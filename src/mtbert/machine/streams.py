"""Streams of a GPU: a training computes on one of its own, and what an adapter adds beside a layer on a second one.

Kernels of a stream run one after the other, those of two streams at once. Kernels of few short sequences leave most of
a GPU idle. A stream that waits for another starts no kernel before those that the other was given. Memory belongs to
the stream that it was made on; it is not given to another tensor before a stream that it is recorded for has read it.
On other devices nothing changes here.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator

import torch
from torch import Tensor


@contextlib.contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Compute on a stream of one's own where the device is a GPU: steps are not recorded on the default one."""
    if device.type != "cuda":
        yield
        return
    stream = _stream(device, "training")
    stream.wait_stream(torch.cuda.current_stream(device))
    try:
        with torch.cuda.stream(stream):
            yield
    finally:  # also after a fault, so that nobody reads what is still being computed
        torch.cuda.current_stream(device).wait_stream(stream)


def begin_beside(compute: Callable[..., Tensor | None], *inputs: Tensor) -> Tensor | None:
    """Compute something of these inputs, on a GPU beside what follows; nobody may read it before `finish_beside`."""
    device = inputs[0].device
    if device.type != "cuda":
        return compute(*inputs)
    second = _stream(device, "beside")
    second.wait_stream(torch.cuda.current_stream(device))
    for tensor in inputs:
        tensor.record_stream(second)  # so that its memory is not used anew before it is read there
    with torch.cuda.stream(second):
        return compute(*inputs)


def join(device: torch.device) -> None:
    """Have the current stream wait for the second one if that is being recorded, too: no recording ends before."""
    second = _stream(device, "beside")
    with torch.cuda.stream(second):
        is_recorded = torch.cuda.is_current_stream_capturing()
    if is_recorded:
        torch.cuda.current_stream(device).wait_stream(second)


def finish_beside(result: Tensor) -> Tensor:
    """Have what follows wait for a result of `begin_beside`, and return it."""
    if result.device.type == "cuda":
        current = torch.cuda.current_stream(result.device)
        current.wait_stream(_stream(result.device, "beside"))
        result.record_stream(current)
    return result


def _stream(device: torch.device, purpose: str) -> torch.cuda.Stream:
    """Return a stream of all trainings of a process: each that is made keeps memory of cuBLAS for itself."""
    with _MAKING:
        return _made(device, purpose)


@functools.cache
def _made(device: torch.device, purpose: str) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


_MAKING = threading.Lock()  # so that no two threads make a stream of one purpose
