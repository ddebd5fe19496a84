"""Ways to merge against peft's, and by hand."""

import pytest
import torch
from peft.utils import merge_utils

from mtbert.merging import MERGES

VECTORS = [torch.randn(2_000, generator=torch.Generator().manual_seed(number)) for number in range(3)]


def direction(name: str, vectors: list[torch.Tensor]) -> torch.Tensor:
    return MERGES[name].direction(vectors)


def test_task_arithmetic_is_pefts():
    theirs = merge_utils.task_arithmetic(VECTORS, torch.full((3,), 0.3))
    torch.testing.assert_close(0.3 * direction("task_arithmetic", VECTORS), theirs)


def test_ties_is_pefts():
    theirs = merge_utils.ties(VECTORS, torch.ones(3), density=0.2)
    torch.testing.assert_close(direction("ties", VECTORS), theirs)


def test_the_mean_goes_to_the_mean_of_the_weights():
    start, members = torch.tensor([1.0, 2.0]), [torch.tensor([2.0, 2.0]), torch.tensor([4.0, 0.0])]
    merged = start + direction("mean", [member - start for member in members])
    assert merged.tolist() == [3.0, 1.0]


def test_ties_trims_elects_a_sign_and_takes_the_mean_of_those_that_have_it():
    first = torch.tensor([4.0, 6.0, 0.1, -0.2, 0, 0, 0, 0, 0, 0])  # two of ten values are kept
    second = torch.tensor([2.0, -1.0, 0.1, 0.2, 0, 0, 0, 0, 0, 0])
    third = torch.tensor([-3.0, 0.3, 0.1, 2.0, 0, 0, 0, 0, 0, 0])
    # kept: 4, 6; 2, -1; -3, 2
    assert direction("ties", [first, second, third]).tolist() == pytest.approx([3.0, 6.0, 0, 2.0, *[0] * 6])


def test_ties_is_0_where_kept_values_cancel():
    one, other = torch.tensor([3.0, 1.0, 0, 0, 0]), torch.tensor([-3.0, 0, 0, 1.0, 0])  # one of five is kept
    assert direction("ties", [one, other]).tolist() == [0.0] * 5
