"""A CUDA graph's stand-in on a CPU: it records the operations of a step, and repeats them with the same memory."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Recording(TorchDispatchMode):
    """Notes each operation with its tensors. What Python computes from a number is refused, as on a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run and note one operation."""
        assert func is not torch.ops.aten._local_scalar_dense.default, "a recorded step waits for a number"
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result

    @torch.no_grad()
    def repeat(self) -> None:
        """Run all of them again, and leave their results where they were the first time."""
        for func, args, kwargs, before in self.calls:
            after = func(*args, **kwargs)
            for old, new in zip(tree_leaves(before), tree_leaves(after), strict=True):
                if isinstance(old, Tensor) and old.data_ptr() != new.data_ptr():  # else a view, or changed in place
                    old.copy_(new)


class Replays:
    """As `steps.CudaGraphs`; recording computes here, so the first start does not."""

    def watch(self, compute: Callable[[], Any]) -> tuple[Any, str]:
        """Run a step as it comes."""
        return compute(), ""

    def record(self, compute: Callable[[], Any]) -> tuple[Any, Callable[[], object]]:
        """Note a step."""
        with Recording() as recording:
            result = compute()
        starts = iter([lambda: None])
        return result, lambda: next(starts, recording.repeat)()
