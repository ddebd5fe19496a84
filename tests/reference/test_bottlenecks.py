"""Houlsby's and Pfeiffer's bottlenecks and low-rank layers against plain NumPy, and the counts of their weights."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from models import build_adapter, ours, small_batch, small_hugging_face_bert, small_model
from scipy.special import erf
from torch import nn

from mtbert.errors import SettingsError
from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Adapter, Shape
from mtbert.models.encoder.bert import Encoder

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


def hidden_of(encoder, adapter, batch):
    return encoder(encoder.words(batch.input_ids), batch.token_types, batch.mask, partial(adapter.slot, batch.task))


def whole(name, **options):
    """A small encoder with that adapter in it, and what both and Hugging Face's make of a batch without padding."""
    theirs, batch = small_hugging_face_bert(), small_batch("sst")
    batch.mask[:] = 1
    encoder = Encoder(ours(theirs), 0.0).eval()
    adapter = build_adapter({"name": name, **options}, encoder, ["sst", "sts"])
    plain = theirs(batch.input_ids, batch.mask, batch.token_types).last_hidden_state
    return adapter, hidden_of(encoder, adapter, batch), plain, lambda: hidden_of(encoder, adapter, batch)


@pytest.mark.parametrize("name", ["houlsby", "pfeiffer", "low_rank"])
def test_with_nothing_on_the_way_back_it_is_hugging_faces_bert(name):
    adapter, _, plain, again = whole(name)
    for weight, parameter in adapter.named_parameters():
        nn.init.zeros_(parameter) if ".up." in weight else nn.init.normal_(parameter)
    torch.testing.assert_close(again(), plain, atol=2e-6, rtol=0)


def test_houlsby_starts_near_what_the_encoder_was():
    _, started, plain, _ = whole("houlsby")
    assert 1e-6 < (started - plain).abs().max() < 0.02


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


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("houlsby", {}, 2_379_264),
        ("houlsby", {"size": 8}, 313_536),
        ("houlsby", {"per_task": True}, 3 * 2_379_264),
        ("pfeiffer", {}, 894_528),
        ("pfeiffer", {"per_task": True}, 3 * 894_528),
        ("low_rank", {}, 3 * 1_853_616),
        ("low_rank", {"per_task": False}, 1_853_616),
    ],
)
def test_weights_at_bert_base_shape(name, options, expected):
    adapter = built(name, ("sst", "qqp", "sts"), **options)
    assert sum(p.numel() for p in adapter.parameters()) == expected


def test_a_low_rank_layer_costs_about_what_a_pal_does():
    maps = sum(p.numel() for name, p in built("low_rank").named_parameters() if name.endswith("weight"))
    assert maps == 1_843_200  # PALs: 1,811,520


@pytest.mark.parametrize("name", ["houlsby", "pfeiffer", "low_rank"])
def test_a_task_moves_anothers_set_only_where_it_is_shared(name):
    for per_task in (True, False):
        model, batch = small_model({"name": name, "per_task": per_task}), small_batch("sst")
        model.loss(batch, model(batch)).backward()
        moved = {
            key for key, group in model.adapter.sets.items() if all(p.grad is not None for p in group.parameters())
        }
        assert moved == ({"sst"} if per_task else {"shared"})
        assert set(model.adapter.sets) == ({"sst", "qqp", "sts"} if per_task else {"shared"})


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("houlsby", {"size": 0}, r"adapter houlsby: size: .*greater than or equal to 1"),
        ("pfeiffer", {"activation": "tanh"}, r"adapter pfeiffer: activation: .*'gelu' or 'relu'"),
        ("low_rank", {"activation": "relu"}, r"adapter low_rank: activation: .*'gelu' or 'none'"),
    ],
)
def test_settings_out_of_range_are_refused(name, options, said):
    with pytest.raises(SettingsError, match=said):
        built(name, **options)
