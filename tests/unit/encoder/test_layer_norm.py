"""LayerNorm computes in its input's precision on a GPU, whatever autocast would do there."""

import pytest
import torch
import torch.nn.functional as F

from mtbert.models.encoder.bert import LayerNorm


class OnGpu(torch.Tensor):
    """A tensor that says that it is on a GPU."""

    @property
    def is_cuda(self):
        return True


def test_weights_have_the_precision_of_the_input_and_autocast_changes_neither(monkeypatch):
    told = []

    def layer_norm(inputs, shape, weight, bias, eps):
        told.append((inputs.dtype, weight.dtype, bias.dtype, torch.is_autocast_enabled("cuda")))
        return inputs

    monkeypatch.setattr(F, "layer_norm", layer_norm)
    torch.set_autocast_enabled("cuda", True)
    try:
        LayerNorm(4)(torch.ones(1, 4, dtype=torch.bfloat16).as_subclass(OnGpu))
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert told == [(torch.bfloat16, torch.bfloat16, torch.bfloat16, False)]


def test_it_normalises():
    normalised = LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 6.0]]).bfloat16().as_subclass(OnGpu))
    expected = [-1.0690, -0.5345, 0.0000, 1.6036]  # less the mean 3, over the root of the variance 3.5
    assert normalised.tolist()[0] == pytest.approx(expected, abs=0.01)
