"""Two feed-forward layers with GELU between them."""

import pytest
import torch

from mtbert.models.heads.mlp import MlpHead, Settings
from mtbert.tasks import TASKS


def head(hidden: list[list[float]], output: list[float], embeddings: int = 1, dropout: float = 0.3) -> MlpHead:
    """A score head with the weights that are given; biases 0 and 0.5."""
    settings = Settings(width=len(hidden), dropout=dropout)
    made = MlpHead(settings, TASKS["sts"], len(hidden[0]) // embeddings, embeddings)
    with torch.no_grad():
        made.hidden.weight.copy_(torch.tensor(hidden))
        made.hidden.bias.zero_()
        made.output.weight.copy_(torch.tensor([output]))
        made.output.bias.fill_(0.5)
    return made


def test_gelu_between_two_layers():
    # GELU(1) = 0.8413447 and GELU(-1) = -0.1586553 (x times the normal distribution's share below x)
    outputs = head([[1.0], [-1.0]], output=[1.0, 2.0]).eval()(torch.tensor([[1.0]]))
    assert outputs.tolist() == [[pytest.approx(0.8413447 - 2 * 0.1586553 + 0.5, abs=1e-6)]]


def test_two_embeddings_stand_side_by_side():
    made = head([[1.0, 2.0, 3.0, 4.0]], output=[1.0], embeddings=2).eval()  # GELU(10) = 10
    assert made(torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 1.0]])).tolist() == [[pytest.approx(10.5)]]


def test_dropout_is_before_the_first_layer_in_training_alone():
    made, twenties = head([[1.0]], output=[1.0], dropout=0.5), torch.full((64, 1), 20.0)  # GELU(20) = 20
    torch.manual_seed(0)
    assert set(made.train()(twenties).flatten().tolist()) == {0.5, 40.5}
    assert set(made.eval()(twenties).flatten().tolist()) == {20.5}
