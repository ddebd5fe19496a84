"""Gradient surgery on cases worked out by hand, and against the published algorithm in NumPy."""

import numpy as np
import pytest
import torch
from torch import nn

from mtbert.learning.gradients import GRADIENTS


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def by_the_book(gradients: np.ndarray, orders: list[list[int]]) -> np.ndarray:
    """Algorithm 1 of Yu et al. (2020), in NumPy, with the order of each task's others given."""
    found = gradients.copy()
    for i, order in enumerate(orders):
        for j in order:
            if i != j and found[i] @ gradients[j] < 0:
                found[i] -= (found[i] @ gradients[j]) / (gradients[j] @ gradients[j]) * gradients[j]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_three_tasks_as_in_algorithm_1(seed: int):
    gradients = torch.randn(3, 4, generator=generator(seed), dtype=torch.float64).numpy()
    same = generator(seed)
    orders = [torch.randperm(3, generator=same).tolist() for _ in range(3)]
    counts = GRADIENTS.build(GRADIENTS.choose({"name": "pcgrad"}), generator(seed)).counts(gradients @ gradients.T)
    assert counts @ gradients == pytest.approx(by_the_book(gradients, orders).sum(axis=0), abs=1e-12)


def test_only_what_tasks_share_is_projected():
    shared, own, other = (nn.Parameter(torch.tensor([1.0, 1.0])) for _ in range(3))
    losses = {
        "sst": (shared * torch.tensor([1.0, 0.0])).sum() + (own * torch.tensor([7.0, 7.0])).sum(),
        "sts": (shared * torch.tensor([-1.0, 1.0])).sum() + (other * torch.tensor([-9.0, 9.0])).sum(),
    }
    GRADIENTS.build(GRADIENTS.choose({"name": "pcgrad"}), generator())(losses, [shared, own, other])
    gradients = [parameter.grad.tolist() for parameter in (shared, own, other) if parameter.grad is not None]
    assert gradients == [[0.5, 1.5], [7.0, 7.0], [-9.0, 9.0]]


def test_the_mean_divides_what_several_tasks_reach_by_their_number():
    two, three, own = (nn.Parameter(torch.tensor([1.0])) for _ in range(3))
    losses = {"a": two.sum() + three.sum() + own.sum(), "b": 2 * two.sum() + 2 * three.sum(), "c": 6 * three.sum()}
    rule = GRADIENTS.build(GRADIENTS.choose({"name": "pcgrad", "reduction": "mean"}), generator())
    rule(losses, [two, three, own])
    assert [p.grad.tolist() for p in (two, three, own) if p.grad is not None] == [[1.5], [3.0], [1.0]]
