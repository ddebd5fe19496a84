"""The PAL against a plain NumPy re-statement of Stickland and Murray's formula, and the count of its weights."""

import math

import numpy as np
import pytest
import torch
from scipy.special import erf, softmax

from mtbert.errors import SettingsError
from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Shape


def pals(width, layers, tasks=("sst",), **options):
    return ADAPTERS.build({"name": "pals", **options}, Shape(width, layers, 4 * width, 0.3), list(tasks))


def weights(adapter):
    return sum(p.numel() for name, p in adapter.named_parameters() if not name.endswith("bias"))


def numpy_pal(path, layer, hidden, mask, heads):
    """GELU(V_D MHA(V_E h)), one sentence and one head at a time; hidden [rows, tokens, width]."""
    arrays = {name: p.detach().double().numpy() for name, p in path.named_parameters()}
    result = np.zeros_like(hidden)
    for row, states in enumerate(hidden):
        narrow = states @ arrays["down.weight"].T + arrays["down.bias"]
        joint = arrays[f"query_key_value.{layer}.weight"], arrays[f"query_key_value.{layer}.bias"]
        query, key, value = np.split(narrow @ joint[0].T + joint[1], 3, axis=1)
        size = narrow.shape[1] // heads
        parts = []
        for head in range(heads):
            at = slice(head * size, (head + 1) * size)
            scores = query[:, at] @ key[:, at].T / math.sqrt(size)
            scores[:, mask[row] == 0] = -np.inf
            parts.append(softmax(scores, axis=1) @ value[:, at])
        wide = np.concatenate(parts, axis=1) @ arrays["up.weight"].T + arrays["up.bias"]
        result[row] = wide * 0.5 * (1 + erf(wide / math.sqrt(2)))
    return result


def test_output_equals_numpy():
    torch.manual_seed(1)
    adapter = pals(width=10, layers=2, dim=6, heads=3).eval()
    for name, parameter in adapter.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter)
    hidden = torch.randn(2, 5, 10)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    ours = adapter.slot("sst", 1).parallel(hidden, mask.bool()[:, None, None, :])
    theirs = numpy_pal(adapter.paths["sst"], 1, hidden.double().numpy(), mask.numpy(), heads=3)
    np.testing.assert_allclose(ours.detach().numpy(), theirs, atol=1e-6)


def test_half_pals_stand_in_the_top_six_layers_only():
    adapter = ADAPTERS.build(
        {"name": "pals", "dim": 276, "heads": 12, "layers": "top_half"}, Shape(768, 12, 3072), ["sst"]
    )
    assert adapter.layers == (6, 7, 8, 9, 10, 11)
    assert weights(adapter) == 2 * 768 * 276 + 6 * 3 * 276**2
    hidden, mask = torch.zeros(1, 2, 768), torch.ones(1, 1, 1, 2, dtype=torch.bool)
    assert adapter.slot("sst", 5).parallel(hidden, mask) is None
    assert adapter.slot("sst", 6).parallel(hidden, mask).shape == (1, 2, 768)


def test_heads_that_do_not_divide_dim_are_refused():
    with pytest.raises(SettingsError, match="adapter pals: dim is 12 and heads 5, which does not divide it"):
        pals(width=8, layers=2, dim=12, heads=5)


def test_layers_that_the_encoder_does_not_have_are_refused():
    with pytest.raises(SettingsError, match=r"pals\.layers is \[1, 2\]; allowed: layers 0 to 1 of the encoder"):
        ADAPTERS.build({"name": "pals", "layers": [1, 2]}, Shape(8, 2, 32), ["sst"])
