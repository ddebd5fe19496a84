"""What the outputs of any head mean: losses and probabilities by the task's kind."""

import math

import pytest
import torch

from mtbert.models.heads.base import Head
from mtbert.settings import NoOptions
from mtbert.tasks import TASKS

CLASSES, BINARY, SCORE = (Head(NoOptions(), TASKS[name], width=4, embeddings=1) for name in ("sst", "qqp", "sts"))
LN2, LN3 = math.log(2), math.log(3)


def test_cross_entropy():
    # probabilities 1/3, 1/6, 1/6, 1/6, 1/6: (ln 3 + ln 6) / 2
    outputs = torch.tensor([[LN2, 0, 0, 0, 0], [LN2, 0, 0, 0, 0]])
    assert CLASSES.loss(outputs, torch.tensor([0.0, 3.0])).item() == pytest.approx(1.4451859)


def test_binary_cross_entropy():
    # probability of yes 3/4: (-ln 3/4 - ln 1/4) / 2
    assert BINARY.loss(torch.tensor([[LN3], [LN3]]), torch.tensor([1.0, 0.0])).item() == pytest.approx(0.8369882)


def test_squared_error():
    assert SCORE.loss(torch.tensor([[1.0], [4.0]]), torch.tensor([2.0, 2.0])).item() == pytest.approx(2.5)


@pytest.mark.parametrize("head", [CLASSES, BINARY])
def test_probabilities_sum_to_one_and_their_logs_are_finite(head: Head):
    outputs = torch.linspace(-80, 80, 7).unsqueeze(1).expand(7, head.outputs).clone()
    outputs[:, 0] *= -1
    logs = head.log_probabilities(outputs)
    assert logs.shape == (7, head.task.classes)
    assert torch.isfinite(logs).all()
    torch.testing.assert_close(logs.exp().sum(dim=1), torch.ones(7))


@pytest.mark.parametrize("head", [CLASSES, BINARY])
def test_the_loss_is_the_mean_log_probability_of_the_labels(head: Head):
    outputs = torch.arange(3.0 * head.outputs).reshape(3, head.outputs).sin()
    labels = torch.tensor([1.0, 0.0, 1.0])
    picked = head.log_probabilities(outputs)[torch.arange(3), labels.long()]
    torch.testing.assert_close(head.loss(outputs, labels), -picked.mean())
