"""GradNorm's step on its weights, and what it gives to a task's own parameters."""

import numpy as np
import pytest
import torch
from torch import nn

from mtbert.learning.gradients import GRADIENTS


def test_the_slope_is_that_of_the_formula():
    logits = torch.tensor([0.3, -0.2, 0.1], dtype=torch.float64, requires_grad=True)
    lengths, left = torch.tensor([2.0, 0.5, 1.18]).double(), torch.tensor([0.5, 0.9, 0.6]).double()
    weights = 3 * logits.softmax(dim=0)
    meant = ((weights * lengths).mean() * (left / left.mean()) ** 1.5).detach()
    (weights * lengths - meant).abs().sum().backward()
    rule = GRADIENTS.build(GRADIENTS.choose({"name": "gradnorm"}), torch.Generator())
    rule.logits, rule.first = logits.detach().clone(), torch.full((3,), 2.0, dtype=torch.float64)
    assert rule.counts(np.diag(lengths.numpy() ** 2)) == pytest.approx(weights.tolist())
    rule.after_update(dict(enumerate(2 * left)))
    assert rule.logits.grad.tolist() == pytest.approx(logits.grad.tolist())


def test_the_task_with_the_longer_gradient_counts_less_after_an_update_also_in_its_own_parameters():
    rule = GRADIENTS.build(GRADIENTS.choose({"name": "gradnorm"}), torch.Generator())

    def step() -> list[float]:
        shared, own = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
        rule({"sst": 8 * shared.sum() + own.sum(), "sts": shared.sum()}, [shared, own])
        rule.after_update({"sst": torch.tensor(2.0), "sts": torch.tensor(2.0)})
        return [shared.grad.item(), own.grad.item()]

    assert step() == [9.0, 1.0]
    first, second = step()
    assert (first, second) == pytest.approx((8 * second + 2 - second, 0.975), abs=1e-3)


def test_a_loss_that_is_not_finite_moves_nothing():
    rule = GRADIENTS.build(GRADIENTS.choose({"name": "gradnorm"}), torch.Generator())
    rule.after_update({"sst": torch.tensor(float("nan")), "sts": torch.tensor(2.0)})
    assert rule.first.tolist() == []


def test_a_gradient_that_is_not_finite_moves_nothing_although_its_loss_is():
    rule = GRADIENTS.build(GRADIENTS.choose({"name": "gradnorm"}), torch.Generator())

    def step(factor: float) -> list[float]:
        shared = nn.Parameter(torch.ones(1))
        rule({"sst": 8 * factor * shared.sum(), "sts": shared.sum()}, [shared])
        rule.after_update({"sst": torch.tensor(2.0), "sts": torch.tensor(2.0)})
        return rule.logits.tolist()

    moved = step(1.0)
    assert moved != [0.0, 0.0]
    assert step(float("inf")) == moved  # not once more by the lengths of the step before


def test_gradients_that_are_not_finite_from_the_first_step_on_move_nothing():
    rule = GRADIENTS.build(GRADIENTS.choose({"name": "gradnorm"}), torch.Generator())
    rule.after_update({"sst": torch.tensor(1.0), "sts": torch.tensor(2.0)})  # no gradient was weighted before
    assert rule.first.tolist() == []
