"""Predictions at random, as in RandBERT's row of slapbert's table 1."""

import pytest
import torch

from mtbert.models.heads import HEADS
from mtbert.tasks import TASKS

SAME = torch.ones(4000, 8)


def outputs(task: str, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return HEADS.build({"name": "chance"}, TASKS[task], 8, 1)(SAME)


def test_each_of_five_classes_as_often_as_the_others():
    counts = torch.bincount(outputs("sst").argmax(dim=-1), minlength=5)
    assert counts.tolist() == pytest.approx([800] * 5, abs=80)


def test_yes_to_every_pair_so_that_accuracy_is_the_share_of_duplicates():
    head = HEADS.build({"name": "chance"}, TASKS["qqp"], 8, 1)
    assert set(head.log_probabilities(outputs("qqp")).argmax(dim=-1).tolist()) == {1}


def test_scores_all_over_the_range():
    scores = outputs("sts").squeeze(-1)
    assert (scores.min().item(), scores.max().item()) == pytest.approx((0.0, 5.0), abs=0.01)
    assert scores.mean().item() == pytest.approx(2.5, abs=0.1)
