"""Streams of a GPU: a training computes on one of its own, and what is beside a layer on a second one.

Kernels of a stream run one after the other, those of two streams at once. Kernels of few short sequences leave most of
a GPU idle. On other devices nothing changes here.
"""

import contextlib
import functools
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
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)


def begin(compute: Callable[..., Tensor | None], *inputs: Tensor) -> Tensor | None:
    """Compute something of these inputs, on a GPU beside what follows; nobody may read it before `finish`."""
    device = inputs[0].device
    if device.type != "cuda":
        return compute(*inputs)
    second = _stream(device, "beside")
    second.wait_stream(torch.cuda.current_stream(device))
    for tensor in inputs:
        tensor.record_stream(second)  # so that its memory is not used anew before it is read there
    with torch.cuda.stream(second):
        return compute(*inputs)


def finish(result: Tensor) -> Tensor:
    """Have what follows wait for a result of `begin`, and return it."""
    if result.device.type == "cuda":
        current = torch.cuda.current_stream(result.device)
        current.wait_stream(_stream(result.device, "beside"))
        result.record_stream(current)
    return result


@functools.cache
def _stream(device: torch.device, purpose: str) -> torch.cuda.Stream:
    """Return a stream of all trainings of a process: each that is made keeps memory of cuBLAS for itself."""
    return torch.cuda.Stream(device)
