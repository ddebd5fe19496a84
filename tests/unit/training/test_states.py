"""What changes in training comes back from a checkpoint, in place where others may hold it, too."""

import torch

from mtbert.learning.states import Stateful


class Part(Stateful):
    changes = ("generator", "weight", "count", "by_task")

    def __init__(self) -> None:
        self.generator, self.weight = torch.Generator().manual_seed(1), torch.zeros(2)
        self.count, self.by_task = 0, {"sst": torch.zeros(1)}


def test_each_kind_of_attribute_comes_back() -> None:
    part, other = Part(), Part()
    torch.rand(3, generator=part.generator)
    part.weight, part.count, part.by_task = torch.ones(2), 5, {"sst": torch.ones(1), "qqp": torch.ones(1)}
    held = other.weight
    other.restore(part.state())
    assert torch.equal(torch.rand(2, generator=other.generator), torch.rand(2, generator=part.generator))
    assert other.weight is held
    assert (held.tolist(), other.count) == ([1, 1], 5)
    assert {task: value.tolist() for task, value in other.by_task.items()} == {"sst": [1], "qqp": [1]}
