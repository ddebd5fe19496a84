"""Houlsby's and Pfeiffer's bottlenecks and low-rank layers by their formulas, and what their weights start from."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Adapter, InLayer, Shape

SMALL, BERT_BASE = Shape(10, 2, 20), Shape(768, 12, 3072)
OUTPUT, RESIDUAL, NORM_WEIGHT, NORM_BIAS = (
    torch.randn(*shape, generator=torch.Generator().manual_seed(2)) for shape in ((2, 5, 10), (2, 5, 10), (10,), (10,))
)
NORM = nn.LayerNorm(10)
NORM.weight.data, NORM.bias.data = NORM_WEIGHT, NORM_BIAS


def built(name: str, shape: Shape, **options: object) -> Adapter:
    return ADAPTERS.build(ADAPTERS.choose({"name": name, **options}), shape, ["sst"])


def in_layer(name: str, **options: object) -> InLayer:
    """That adapter in a layer, with weights and biases large enough to show."""
    torch.manual_seed(1)
    adapter = built(name, SMALL, **options)
    for parameter in adapter.parameters():
        nn.init.normal_(parameter, std=0.5)
    return adapter.slot("sst", 1)


def narrow(slot: InLayer, prefix: str, x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """W_U act(W_D x + b_D) + b_U."""
    weights = {name.removeprefix(prefix): weight for name, weight in slot.named_parameters()}
    inner = activation(F.linear(x, weights["down.weight"], weights["down.bias"]))
    return F.linear(inner, weights["up.weight"], weights["up.bias"])


@pytest.mark.parametrize("sublayer", ["attention", "feed_forward"])
def test_houlsbys_stand_behind_both_sublayers(sublayer):
    slot = in_layer("houlsby", size=4)
    expected = OUTPUT + narrow(slot, f"{sublayer}.", OUTPUT, F.gelu) + RESIDUAL
    torch.testing.assert_close(slot.sublayer(sublayer, OUTPUT, RESIDUAL, NORM), expected)


def test_pfeiffers_reads_what_is_normalised_behind_the_feed_forward_alone():
    slot = in_layer("pfeiffer", size=4)
    expected = OUTPUT + RESIDUAL + narrow(slot, "", NORM(OUTPUT + RESIDUAL), F.relu)
    torch.testing.assert_close(slot.sublayer("feed_forward", OUTPUT, RESIDUAL, NORM), expected)
    assert torch.equal(slot.sublayer("attention", OUTPUT, RESIDUAL, NORM), OUTPUT + RESIDUAL)


def test_a_low_rank_layer_is_a_pal_without_attention():
    slot = in_layer("low_rank", dim=4)
    expected = narrow(slot, "", OUTPUT, lambda inner: inner)
    torch.testing.assert_close(slot.parallel(OUTPUT, torch.ones(2, 1, 1, 5, dtype=torch.bool)), expected)


def test_fresh_weights_of_houlsby_end_at_two_standard_deviations():
    linears = [module for module in built("houlsby", BERT_BASE).modules() if isinstance(module, nn.Linear)]
    assert len(linears) == 12 * 2 * 2
    for linear in linears:
        assert 0.0195 < linear.weight.abs().max() <= 0.02
        assert not linear.bias.any()


@pytest.mark.parametrize("name", ["pfeiffer", "low_rank"])
def test_others_start_like_the_encoder(name: str):
    linears = [module for module in built(name, BERT_BASE).modules() if isinstance(module, nn.Linear)]
    assert len(linears) == 12 * 2
    for linear in linears:
        assert linear.weight.detach().std().item() == pytest.approx(0.02, rel=0.05)
        assert not linear.bias.any()
