"""What is computed beside a layer is waited for, and no memory is used anew before it is read."""

import contextlib

import pytest
import torch
from torch import nn

from mtbert.machine import streams
from mtbert.models.adapters.base import Shape
from mtbert.models.adapters.low_rank import LowRank
from mtbert.models.adapters.low_rank import Settings as LowRankSettings
from mtbert.models.encoder import bert, modernbert, slot
from mtbert.models.encoder.slot import PLAIN

SHAPE = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


class OnGpu:
    """A tensor of a GPU, as far as streams need one."""

    device = torch.device("cuda")

    def __init__(self, name, told):
        self.name, self.told = name, told

    def record_stream(self, stream):
        self.told.append(f"{self.name} is kept for {stream}")


class FakeStream:
    def __init__(self, name, told):
        self.name, self.told = name, told

    def __str__(self):
        return self.name

    def wait_stream(self, other):
        self.told.append(f"{self} waits for {other}")


@pytest.fixture
def told(monkeypatch):
    """What streams and tensors were told, where the current stream is `current`, and others have their purposes."""
    lines = []

    @contextlib.contextmanager
    def on(stream):
        lines.append(f"begin on {stream}")
        yield
        lines.append("end")

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: FakeStream("current", lines))
    monkeypatch.setattr(torch.cuda, "stream", on)
    monkeypatch.setattr(streams, "_stream", lambda device, purpose: FakeStream(purpose, lines))
    return lines


def test_a_gpu_computes_on_the_second_stream_and_what_follows_waits(told):
    def compute(tensor):
        told.append(f"compute with {tensor.name}")
        return OnGpu("the result", told)

    result = streams.begin_beside(compute, OnGpu("the input", told))
    told.append("something else")
    assert streams.finish_beside(result) is result
    assert told == [
        "beside waits for current",
        "the input is kept for beside",
        "begin on beside",
        "compute with the input",
        "end",
        "something else",
        "current waits for beside",
        "the result is kept for current",
    ]


def test_what_follows_a_training_waits_for_its_stream_also_after_a_fault(told, monkeypatch):
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    with pytest.raises(ValueError, match="a fault"), streams.own_stream(torch.device("cuda")):
        raise ValueError("a fault")
    assert told == ["training waits for current", "current waits for training"]


@pytest.mark.parametrize(("is_recorded", "expected"), [(True, ["current waits for beside"]), (False, [])])
def test_a_second_stream_that_is_recorded_is_joined(told, monkeypatch, is_recorded, expected):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: is_recorded)
    streams.join(torch.device("cuda"))
    assert told == ["begin on beside", "end", *expected]


def test_a_cpu_computes_at_once():
    result = streams.begin_beside(lambda tensor: 2 * tensor, torch.ones(1))
    assert streams.finish_beside(result).tolist() == [2]


def bert_layer(used):
    config = bert.Config(**SHAPE, max_position_embeddings=8)
    layer = bert.Layer(config, bert.SelfAttention(config)).eval()
    return lambda hidden, mask: layer(hidden, mask, used)


def modernbert_layer(used):
    thetas = {"full_attention": 1e4, "sliding_attention": 1e4}
    config = modernbert.Config(**SHAPE, max_position_embeddings=8, layer_types=["full_attention"], thetas=thetas)
    model = modernbert.ModernBert(config)
    layer = model.layer_modules()[0].eval()
    sight = model.sight("full_attention", torch.ones(1, 1, 1, 3, dtype=torch.bool), 3)
    return lambda hidden, mask: layer(hidden, sight, mask, nn.LayerNorm(8), used)


@pytest.mark.parametrize("layer_of", [bert_layer, modernbert_layer])
def test_a_layer_reads_what_finish_returns(monkeypatch, layer_of):
    torch.manual_seed(1)
    layer = layer_of(LowRank(LowRankSettings(dim=2), Shape(8, 1, 16)))
    inputs = torch.randn(1, 3, 8), torch.ones(1, 1, 1, 3, dtype=torch.bool)
    finished = layer(*inputs)
    monkeypatch.setattr(slot, "finish_beside", lambda result: result + torch.randn(8))
    assert not torch.allclose(layer(*inputs), finished)


def test_what_is_not_beside_is_computed_in_line(monkeypatch):
    monkeypatch.setattr(slot, "begin_beside", None)
    monkeypatch.setattr(slot, "finish_beside", None)
    bert_layer(PLAIN)(torch.randn(1, 3, 8), torch.ones(1, 1, 1, 3, dtype=torch.bool))
