"""Learnt weights of the tasks' losses."""

import math

import pytest
import torch

from mtbert.settings import NoOptions
from mtbert.training.weightings.base import Weighting
from mtbert.training.weightings.dynamic import Dynamic, Settings
from mtbert.training.weightings.equal import Equal


def dynamic(**s: float) -> Dynamic:
    weighting = Dynamic(Settings(), ["sst", "sts"], torch.Generator())
    for task, value in s.items():
        weighting.s[task].data.fill_(value)
    return weighting


def weighted(weighting: Weighting, task: str, loss: torch.Tensor) -> torch.Tensor:
    return weighting({task: loss}, lambda _: {})[task]


def test_the_formula():
    assert weighted(dynamic(sst=0.5), "sst", torch.tensor(2.0)).item() == pytest.approx(2 * math.exp(-0.5) + 0.5)


def test_each_task_has_its_own():
    weighting = dynamic(sst=0.5, sts=-1.0)
    weighted(weighting, "sts", torch.tensor(2.0)).backward()
    assert weighting.s["sst"].grad is None
    assert weighting.s["sts"].grad.item() == pytest.approx(1 - 2 * math.e)  # 1 - exp(-s) l


def test_equal_has_nothing_to_learn():
    equal = Equal(NoOptions(), ["sst"], torch.Generator())
    assert (weighted(equal, "sst", torch.tensor(3.0)).item(), list(equal.parameters())) == (3.0, [])


def test_the_history_is_told_what_was_learnt():
    assert dynamic(sst=0.5, sts=-1.0).values() == {"s/sst": 0.5, "s/sts": -1.0}
    assert Equal(NoOptions(), ["sst"], torch.Generator()).values() == {}
