"""Linear head: dropout, then one linear layer."""

import torch

from mtbert.models.heads.linear import LinearHead, Settings
from mtbert.tasks import TASKS


def head(weight: list[float], embeddings: int, bias: float = 0.5, dropout: float = 0.3) -> LinearHead:
    """A yes-or-no head with the weights that are given."""
    made = LinearHead(Settings(dropout=dropout), TASKS["qqp"], len(weight) // embeddings, embeddings)
    with torch.no_grad():
        made.linear.weight.copy_(torch.tensor([weight]))
        made.linear.bias.fill_(bias)
    return made


def test_one_embedding():
    outputs = head([1, 2], embeddings=1).eval()(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    assert outputs.tolist() == [[11.5], [2.5]]


def test_two_embeddings_stand_side_by_side():
    outputs = head([1, 2, 3, 4], embeddings=2).eval()(torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 2.0]]))
    assert outputs.tolist() == [[14.5]]


def test_dropout_doubles_or_drops_a_half_in_training_alone():
    made, ones = head([1], embeddings=1, bias=0.0, dropout=0.5), torch.ones(64, 1)
    torch.manual_seed(0)
    assert set(made.train()(ones).flatten().tolist()) == {0.0, 2.0}
    assert set(made.eval()(ones).flatten().tolist()) == {1.0}


def test_a_score_starts_plain_or_in_the_middle_of_its_range():
    plain, middle = (LinearHead(Settings(output_bias=bias), TASKS["sts"], 2, 1) for bias in ("plain", "middle"))
    assert abs(plain.linear.bias.item()) <= 0.5**0.5  # as PyTorch draws it for two inputs
    assert middle.linear.bias.tolist() == [2.5]
