"""The PAL against PyTorch's own attention by Stickland and Murray's formula, and the layers that have one."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mtbert.errors import SettingsError
from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Shape


def pals(width: int, count: int, **options: object):
    """PALs of an encoder of so many layers."""
    return ADAPTERS.build(ADAPTERS.choose({"name": "pals", **options}), Shape(width, count, 4 * width, 0.3), ["sst"])


@pytest.mark.parametrize("activation", ["gelu", "none"])
def test_a_pal_is_an_activation_of_attention_in_a_narrow_space(activation: str):
    """GELU(V_D MHA(V_E h)), where MHA has no map of its own behind it."""
    torch.manual_seed(1)
    adapter = pals(10, 2, dim=6, heads=3, activation=activation).eval()
    for parameter in adapter.parameters():
        nn.init.normal_(parameter, std=0.5)
    path, theirs = adapter.paths["sst"], nn.MultiheadAttention(6, 3, batch_first=True)
    weights = path.query_key_value["1"]
    theirs.in_proj_weight.data, theirs.in_proj_bias.data = weights.weight.data, weights.bias.data
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = torch.eye(6), torch.zeros(6)
    hidden, mask = torch.randn(2, 5, 10), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    narrow = path.down(hidden)
    expected = path.up(theirs(narrow, narrow, narrow, key_padding_mask=~mask)[0])
    found = adapter.slot("sst", 1).parallel(hidden, mask[:, None, None, :])
    torch.testing.assert_close(found, F.gelu(expected) if activation == "gelu" else expected)


def test_half_pals_stand_in_the_top_six_layers_only():
    adapter = pals(768, 12, dim=276, heads=12, layers="top_half")
    assert adapter.layers == (6, 7, 8, 9, 10, 11)
    assert sum(parameter.numel() for parameter in adapter.parameters()) == 2 * 768 * 276 + 276 + 768 + 6 * 3 * (
        276**2 + 276
    )
    hidden, mask = torch.zeros(1, 2, 768), torch.ones(1, 1, 1, 2, dtype=torch.bool)
    assert adapter.slot("sst", 5).parallel(hidden, mask) is None
    assert adapter.slot("sst", 6).parallel(hidden, mask).shape == (1, 2, 768)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dim": 12, "heads": 5}, "adapter pals: dim is 12 and heads 5, which does not divide it"),
        ({"layers": [1, 2]}, r"pals\.layers is \[1, 2\]; allowed: layers 0 to 1 of the encoder"),
    ],
)
def test_heads_that_do_not_divide_and_layers_that_are_not_there_are_refused(options: dict, told: str):
    with pytest.raises(SettingsError, match=told):
        pals(8, 2, **options)
