"""LayerNorm's result has its input's precision on a GPU, too."""

import pytest
import torch

from mtbert.models.encoder.base import LayerNorm


class OnGpu(torch.Tensor):
    """A tensor that says that it is on a GPU."""

    @property
    def is_cuda(self):
        return True


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])
def test_a_gpu_keeps_the_precision(precision):
    inputs = torch.tensor([[1.0, 2.0, 3.0, 6.0]]).to(precision).as_subclass(OnGpu)
    normalised = LayerNorm(4)(inputs)
    assert normalised.dtype == precision
    expected = [-1.0690, -0.5345, 0.0000, 1.6036]  # less the mean 3, over the root of the variance 3.5
    assert normalised.tolist()[0] == pytest.approx(expected, abs=0.01)
