"""Dropout: as many dropped as asked for, means kept, draws that a seed decides."""

import pytest
import torch

from mtbert.models.encoder.dropout import dropout


@pytest.mark.parametrize(("dropout_p", "dropped"), [(0.1, 26 / 256), (0.3, 77 / 256), (0.5, 0.5), (0.001, 0.001)])
def test_share_and_scale(dropout_p, dropped):
    torch.manual_seed(0)
    result = dropout(torch.ones(1_000_003), dropout_p)
    assert abs((result == 0).float().mean().item() - dropped) < 0.002
    assert torch.unique(result[result > 0]).tolist() == pytest.approx([1 / (1 - dropped)])
    assert abs(result.mean().item() - 1) < 0.003


def test_neighbours_are_independent():
    torch.manual_seed(0)
    kept = dropout(torch.ones(800_000), 0.5).bool().view(-1, 8).double()
    # correlations of the eight bytes of a draw: each has a spread of 1 / sqrt(100,000) = 0.003
    assert (torch.corrcoef(kept.T) - torch.eye(8)).abs().max() < 0.015


def test_a_seed_decides_and_draws_go_on():
    torch.manual_seed(3)
    first, second = dropout(torch.ones(64), 0.5), dropout(torch.ones(64), 0.5)
    torch.manual_seed(3)
    assert torch.equal(dropout(torch.ones(64), 0.5), first)
    assert not torch.equal(first, second)


def test_gradient_is_that_of_what_was_kept_and_bf16_stays():
    torch.manual_seed(0)
    values = torch.ones(4, 5, requires_grad=True)
    result = dropout(values, 0.5)
    result.sum().backward()
    assert torch.equal(values.grad, result.detach())
    assert dropout(values.bfloat16(), 0.1).dtype == torch.bfloat16
