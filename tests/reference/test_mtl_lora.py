"""MTL-LoRA against a plain NumPy restatement of Yang et al.'s formula, its start, and the count of its weights."""

import numpy as np
import pytest
import torch
from models import build_adapter, small_bert
from scipy.special import softmax
from torch import nn

from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Shape
from mtbert.models.encoder.bert import Encoder


def mtl_lora(width=8, tasks=("sst", "sts"), **options):
    return ADAPTERS.build({"name": "mtl_lora", **options}, Shape(width, 2, 4 * width), list(tasks)).eval()


def numpy_output(adapter, task, layer, name, dense, inputs, alpha, temperature):
    """W x + b + alpha / r * sum_i softmax(w_t / temperature)_i B_i Lambda_t A x, a token at a time."""
    arrays = {key: weight.detach().double().numpy() for key, weight in adapter.layers[layer][name].named_parameters()}
    shares = softmax(arrays[f"choices.{task}"] / temperature)
    weight, bias = dense.weight.detach().double().numpy(), dense.bias.detach().double().numpy()
    result = np.zeros((*inputs.shape[:2], len(bias)))
    for place in np.ndindex(*inputs.shape[:2]):
        narrow = arrays[f"inner.{task}"] @ (arrays["down.weight"] @ inputs[place])
        change = sum(share * (up @ narrow) for share, up in zip(shares, arrays["ups"], strict=True))
        result[place] = weight @ inputs[place] + bias + alpha / len(narrow) * change
    return result


@pytest.mark.parametrize(("task", "layer", "name"), [("sst", 0, "query"), ("sts", 1, "output")])
def test_output_equals_numpy(task, layer, name):
    torch.manual_seed(1)
    adapter = mtl_lora(rank=3, alpha=5.0, ways=4, temperature=0.5, targets=["query", "output"])
    for weight in adapter.parameters():
        nn.init.normal_(weight)
    dense = nn.Linear(*Shape(8, 2, 32).linear(name))
    inputs = torch.randn(2, 3, dense.in_features)
    found = adapter.slot(task, layer).linear(name, dense, inputs)
    expected = numpy_output(adapter, task, layer, name, dense, inputs.double().numpy(), 5.0, 0.5)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6, atol=1e-5)


def test_it_starts_as_the_encoder_and_its_ways_out_part():
    encoder = Encoder(small_bert(), 0.0)
    adapter = build_adapter({"name": "mtl_lora"}, encoder, ["sst"])
    dense, inputs = encoder.layer_modules()[0].linears()["query"], torch.randn(2, 3, 24)
    output = adapter.slot("sst", 0).linear("query", dense, inputs)
    torch.testing.assert_close(output, dense(inputs), atol=0, rtol=0)
    output.square().sum().backward()
    first, second, _ = adapter.layers[0]["query"].ups.grad
    assert not torch.allclose(first, second)
