"""What is computed beside a layer is waited for, and no memory is used anew before it is read."""

import contextlib

import pytest
import torch

from mtbert.models.adapters.base import Shape
from mtbert.models.adapters.low_rank import LowRank
from mtbert.models.adapters.low_rank import Settings as LowRankSettings
from mtbert.models.encoder import bert, streams
from mtbert.models.encoder.slot import PLAIN


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


def test_a_gpu_computes_on_the_second_stream_and_what_follows_waits(monkeypatch):
    told = []
    current, second = FakeStream("the first", told), FakeStream("the second", told)

    @contextlib.contextmanager
    def on(stream):
        told.append(f"begin on {stream}")
        yield
        told.append("end")

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: current)
    monkeypatch.setattr(torch.cuda, "stream", on)
    monkeypatch.setattr(streams, "_stream", lambda device, purpose: second)
    result = streams.begin(lambda tensor: OnGpu("the result", told), OnGpu("the input", told))
    told.append("something else")
    assert streams.finish(result) is result
    assert told == [
        "the second waits for the first",
        "the input is kept for the second",
        "begin on the second",
        "end",
        "something else",
        "the first waits for the second",
        "the result is kept for the first",
    ]


def test_a_cpu_computes_at_once():
    result = streams.begin(lambda tensor: 2 * tensor, torch.ones(1))
    assert streams.finish(result).tolist() == [2]


@pytest.mark.parametrize(("slot", "expected"), [("low_rank", ["begin", "finish"]), ("plain", [])])
def test_a_layer_finishes_what_stands_apart_and_nothing_else(monkeypatch, slot, expected):
    told = []

    def begin(compute, *inputs):
        told.append("begin")
        return compute(*inputs)

    def finish(result):
        told.append("finish")
        return result

    monkeypatch.setattr(streams, "begin", begin)
    monkeypatch.setattr(streams, "finish", finish)
    config = bert.Config(
        vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=8,
    )  # fmt: skip
    layer = bert.Layer(config, bert.SelfAttention(config))
    used = LowRank(LowRankSettings(dim=2), Shape(8, 1, 16)) if slot == "low_rank" else PLAIN
    layer(torch.ones(1, 3, 8), torch.ones(1, 1, 1, 3, dtype=torch.bool), used)
    assert told == expected
