"""MTL-LoRA by Yang et al.'s formula, and its start."""

import pytest
import torch
from models import build_adapter, small_bert
from torch import nn

from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Shape
from mtbert.models.encoder.encoder import Encoder


@pytest.mark.parametrize(("task", "layer", "name"), [("sst", 0, "query"), ("sts", 1, "output")])
def test_a_map_has_the_tasks_mixture_of_ways_out_beside_it(task, layer, name):
    """W x + b + alpha / r * sum_i softmax(w_t / temperature)_i B_i Lambda_t A x."""
    torch.manual_seed(1)
    options = {"rank": 3, "alpha": 5.0, "ways": 4, "temperature": 0.5, "targets": ["query", "output"]}
    adapter = ADAPTERS.build(ADAPTERS.choose({"name": "mtl_lora", **options}), Shape(8, 2, 32), ["sst", "sts"]).eval()
    for weight in adapter.parameters():
        nn.init.normal_(weight)
    weights = dict(adapter.layers[layer][name].named_parameters())
    dense = nn.Linear(*Shape(8, 2, 32).linear(name))
    inputs = torch.randn(2, 3, dense.in_features)
    narrow = inputs @ weights["down.weight"].T @ weights[f"inner.{task}"].T
    shares = (weights[f"choices.{task}"] / 0.5).softmax(dim=0)
    change = sum(share * (narrow @ up.T) for share, up in zip(shares, weights["ups"], strict=True))
    found = adapter.slot(task, layer).linear(name, dense, inputs)
    torch.testing.assert_close(found, dense(inputs) + 5 / 3 * change, rtol=1e-5, atol=1e-5)


def test_it_starts_as_the_encoder_and_its_ways_out_part():
    encoder = Encoder(small_bert(), 0.0)
    adapter = build_adapter({"name": "mtl_lora"}, encoder, ["sst"])
    dense, inputs = encoder.layer_modules()[0].linears()["query"], torch.randn(2, 3, 24)
    output = adapter.slot("sst", 0).linear("query", dense, inputs)
    torch.testing.assert_close(output, dense(inputs), atol=0, rtol=0)
    output.square().sum().backward()
    first, second, _ = adapter.layers[0]["query"].ups.grad
    assert not torch.allclose(first, second)
