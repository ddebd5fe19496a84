"""Houlsby's and Pfeiffer's bottlenecks and low-rank layers against plain NumPy, and the counts of their weights."""

import math

import numpy as np
import pytest
import torch
from scipy.special import erf
from torch import nn

from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Adapter, Shape

BERT_BASE = Shape(768, 12, 3072)


def built(name, tasks=("sst",), shape=BERT_BASE, **options) -> Adapter:
    return ADAPTERS.build({"name": name, **options}, shape, list(tasks))


def redrawn(name, **options) -> Adapter:
    """That adapter of a small encoder, with weights and biases large enough to show."""
    torch.manual_seed(1)
    adapter = built(name, shape=Shape(10, 2, 20), **options)
    for parameter in adapter.parameters():
        nn.init.normal_(parameter, std=0.5)
    return adapter


def arrays(module):
    return {name: p.detach().double().numpy() for name, p in module.named_parameters()}


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def relu(x):
    return np.maximum(x, 0)


def narrow(weights, prefix, inputs, activation):
    """W_U act(W_D x + b_D) + b_U."""
    inner = activation(inputs @ weights[f"{prefix}down.weight"].T + weights[f"{prefix}down.bias"])
    return inner @ weights[f"{prefix}up.weight"].T + weights[f"{prefix}up.bias"]


def normalised(x, norm):
    weights = arrays(norm)
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + norm.eps) * weights["weight"] + weights["bias"]


def states():
    """A sub-layer's output, what goes round it, and the LayerNorm behind it."""
    generator = torch.Generator().manual_seed(2)
    norm = nn.LayerNorm(10)
    nn.init.normal_(norm.weight, generator=generator)
    nn.init.normal_(norm.bias, generator=generator)
    return torch.randn(2, 5, 10, generator=generator), torch.randn(2, 5, 10, generator=generator), norm


@pytest.mark.parametrize(("activation", "expected"), [("gelu", gelu), ("relu", relu)])
@pytest.mark.parametrize("sublayer", ["attention", "feed_forward"])
def test_houlsby_equals_numpy(sublayer, activation, expected):
    slot = redrawn("houlsby", size=4, activation=activation).slot("sst", 1)
    output, residual, norm = states()
    x = output.double().numpy()
    theirs = x + narrow(arrays(slot), f"{sublayer}.", x, expected) + residual.double().numpy()
    np.testing.assert_allclose(slot.sublayer(sublayer, output, residual, norm).detach().numpy(), theirs, atol=1e-5)


@pytest.mark.parametrize(("activation", "expected"), [("gelu", gelu), ("relu", relu)])
def test_pfeiffer_equals_numpy(activation, expected):
    slot = redrawn("pfeiffer", size=4, activation=activation).slot("sst", 1)
    output, residual, norm = states()
    z = (output + residual).double().numpy()
    theirs = z + narrow(arrays(slot), "", normalised(z, norm), expected)
    np.testing.assert_allclose(
        slot.sublayer("feed_forward", output, residual, norm).detach().numpy(), theirs, atol=1e-5
    )


def test_pfeiffer_leaves_attention_alone():
    output, residual, norm = states()
    slot = redrawn("pfeiffer", size=4).slot("sst", 1)
    assert torch.equal(slot.sublayer("attention", output, residual, norm), output + residual)


@pytest.mark.parametrize(("activation", "expected"), [("none", lambda x: x), ("gelu", gelu)])
def test_low_rank_equals_numpy(activation, expected):
    slot = redrawn("low_rank", dim=4, activation=activation).slot("sst", 1)
    hidden, _, _ = states()
    theirs = narrow(arrays(slot), "", hidden.double().numpy(), expected)
    ours = slot.parallel(hidden, torch.ones(2, 1, 1, 5, dtype=torch.bool))
    np.testing.assert_allclose(ours.detach().numpy(), theirs, atol=1e-5)


def test_fresh_weights_of_houlsby_end_at_two_standard_deviations():
    linears = [module for module in built("houlsby").modules() if isinstance(module, nn.Linear)]
    assert len(linears) == 12 * 2 * 2
    for linear in linears:
        assert 0.0195 < linear.weight.abs().max() <= 0.02
        assert not linear.bias.any()


@pytest.mark.parametrize("name", ["pfeiffer", "low_rank"])
def test_others_start_like_the_encoder(name):
    linears = [module for module in built(name).modules() if isinstance(module, nn.Linear)]
    assert len(linears) == 12 * 2
    for linear in linears:
        assert linear.weight.detach().std().item() == pytest.approx(0.02, rel=0.05)
        assert not linear.bias.any()
