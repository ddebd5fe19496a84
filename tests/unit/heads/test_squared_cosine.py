"""Squared cosine of the two sentence embeddings."""

import math

import pytest
import torch

from mtbert.errors import SettingsError
from mtbert.models.heads.squared_cosine import SquaredCosineHead
from mtbert.settings import NoOptions
from mtbert.tasks import TASKS

YES_OR_NO, SCORE = (SquaredCosineHead(NoOptions(), TASKS[name], width=2, embeddings=2) for name in ("qqp", "sts"))
FIRST = torch.tensor([[2.0, 0.0]])
AT_45, AT_60, AT_120, OPPOSITE, ACROSS = (
    torch.tensor([vector]) for vector in ([3.0, 3.0], [1.0, 3**0.5], [-1.0, 3**0.5], [-5.0, 0.0], [0.0, 1.0])
)


@pytest.mark.parametrize(
    ("second", "score"), [(FIRST, 5.0), (AT_45, 2.5), (AT_60, 1.25), (AT_120, 1.25), (ACROSS, 0.0), (OPPOSITE, 5.0)]
)
def test_a_score_is_five_times_the_square(second: torch.Tensor, score: float):
    assert SCORE(FIRST, second).tolist() == [[pytest.approx(score, abs=1e-6)]]


@pytest.mark.parametrize(("second", "probability"), [(AT_45, 0.5), (AT_60, 0.25), (AT_120, 0.25)])
def test_the_probability_of_yes_is_the_square(second: torch.Tensor, probability: float):
    outputs = YES_OR_NO(FIRST, second)
    assert outputs.tolist() == [[pytest.approx(math.log(probability / (1 - probability)), abs=1e-5)]]
    assert YES_OR_NO.log_probabilities(outputs).exp().tolist() == [pytest.approx([1 - probability, probability])]


@pytest.mark.parametrize(("second", "wrong"), [(FIRST, 0.0), (ACROSS, 1.0)])
def test_a_certain_mistake_costs_13_8(second: torch.Tensor, wrong: float):
    loss = YES_OR_NO.loss(YES_OR_NO(FIRST, second), torch.tensor([wrong]))
    assert loss.item() == pytest.approx(13.8, abs=0.05)


def test_half_precision_embeddings_are_compared_in_full_precision():
    outputs = SCORE(FIRST.bfloat16(), AT_45.bfloat16())
    assert outputs.dtype == torch.float32
    assert outputs.item() == pytest.approx(2.5, abs=1e-6)


@pytest.mark.parametrize(("task", "embeddings"), [("snli", 2), ("sst", 1), ("qqp", 1), ("sts", 1)])
def test_classes_and_pairs_encoded_together_are_refused(task: str, embeddings: int):
    with pytest.raises(SettingsError, match=rf"model\.heads\.{task} is squared_cosine.*model\.pair_encoding: bi"):
        SquaredCosineHead(NoOptions(), TASKS[task], width=2, embeddings=embeddings)
