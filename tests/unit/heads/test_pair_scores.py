"""Heads that compare two embeddings to give a score: hand-computed cases."""

import math

import pytest
import torch
from sentence_transformers.util import cos_sim
from torch import Tensor

from mtbert.errors import SettingsError
from mtbert.models.heads import HEADS
from mtbert.models.heads.base import Head
from mtbert.tasks import TASKS

U = torch.tensor([[1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
V = torch.tensor([[3.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # cosines 1, 0, -1


def head(name: str, **options: float) -> Head:
    return HEADS.build({"name": name, **options}, TASKS["sts"], 2, 2)


def scores(name: str) -> list[float]:
    built = head(name)
    return built.scores(built(U, V)).tolist()


@pytest.mark.parametrize("name", ["sigmoid_cosine", "cosine", "mnr"])
@pytest.mark.parametrize(("task", "embeddings"), [("qqp", 2), ("sts", 1)])
def test_a_task_without_a_score_and_a_pair_in_one_sequence_are_refused(name: str, task: str, embeddings: int):
    with pytest.raises(SettingsError, match=rf"model\.heads\.{task} is {name}.* model\.pair_encoding: bi"):
        HEADS.build({"name": name}, TASKS[task], 2, embeddings)


def test_five_times_the_sigmoid_of_the_cosine():
    expected = [5 / (1 + math.exp(-cosine)) for cosine in (1, 0, -1)]
    assert scores("sigmoid_cosine") == pytest.approx(expected)


def test_five_times_the_cosine():
    assert scores("cosine") == pytest.approx([5.0, 0.0, -5.0])


def test_the_cosine_is_trained_towards_a_fifth_of_the_label():
    built = head("cosine")
    assert built.loss(built(U, V), torch.tensor([5.0, 2.5, 0.0])).item() == pytest.approx((0 + 0.25 + 1) / 3)


def test_ranking_scores_by_the_cosine():
    assert scores("mnr") == pytest.approx([5.0, 2.5, 0.0])


def reference(u: Tensor, v: Tensor, positive: list[int], scale: float) -> float:
    """Row by row: minus the log of a sentence's own share."""
    shares = (scale * cos_sim(u, v)).exp()
    return -sum(math.log(shares[i, i] / shares[i].sum()) for i in positive) / len(positive)


def test_positives_are_ranked_against_every_second_sentence_of_the_batch():
    u, v = torch.randn(2, 4, 2, generator=torch.Generator().manual_seed(0))
    built = head("mnr", scale=3.0, positive=0.8)
    loss = built.loss(built(u, v), torch.tensor([4.0, 3.9, 5.0, 0.0]))
    assert loss.item() == pytest.approx(reference(u, v, [0, 2], 3.0), rel=1e-5)


def test_every_pair_is_a_positive_as_in_the_report():
    u, v = torch.randn(2, 4, 2, generator=torch.Generator().manual_seed(0))
    built = head("mnr", scale=3.0)
    loss = built.loss(built(u, v), torch.tensor([4.0, 3.9, 5.0, 0.0]))
    assert loss.item() == pytest.approx(reference(u, v, [0, 1, 2, 3], 3.0), rel=1e-5)


def test_a_batch_without_a_positive_teaches_nothing():
    u = U.clone().requires_grad_()
    built = head("mnr", positive=0.8)
    loss = built.loss(built(u, V), torch.zeros(3))
    loss.backward()
    assert (loss.item(), u.grad.abs().sum().item()) == (0.0, 0.0)
